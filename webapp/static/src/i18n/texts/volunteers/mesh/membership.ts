import { number } from "../../../formatting";
import { _, ngettext } from "../gettext";

/** A device's place in a mesh whose members check each other, and what it found. */
export const membership = {
  checking: (name: string) => _("Checking the work of participant %(name)s", { name }),
  doneAgain: (round: string, past: number) =>
    _("%(round)s. Your device does the work of round %(past)s again and compares.", {
      round,
      past: number(past),
    }),
  seat: _("Your device has a seat: its work counts, and it checks that of others."),
  rest: _("Your device was absent from a round and rests for a few rounds."),
  banned: _("The others found work or statements of your device wrong and banned it from this task."),
  none: _("Your device has no seat yet. Its work will count after a probation."),
  probation: (rounds: number, of: number, passed: number, needed: number) =>
    _(
      "Your device is on probation: %(rounds)s of %(of)s rounds; %(passed)s of %(needed)s members found its work right. Its work counts after that.",
      { rounds: number(rounds), of: number(of), passed: number(passed), needed: number(needed) },
    ),
  probationOfRounds: (rounds: number, of: number) =>
    _("Your device is on probation: %(rounds)s of %(of)s rounds. Its work counts after that.", {
      rounds: number(rounds),
      of: number(of),
    }),
  checked: (count: number) =>
    ngettext(
      "It checked the work of another participant once.",
      "It checked the work of other participants %(count)s times.",
      count,
    ),
  bannedOthers: (count: number) =>
    ngettext(
      "%(count)s participant is banned: its work or statements were proven wrong.",
      "%(count)s participants are banned: their work or statements were proven wrong.",
      count,
    ),
  evidence: (count: number) =>
    ngettext(
      "Your device keeps evidence against %(count)s of them, which anybody can check.",
      "Your device keeps evidence against %(count)s of them, which anybody can check.",
      count,
    ),
  removed: (name: string, why: string) =>
    _("Participant %(name)s was removed from a round: %(why)s.", { name, why }),
  why: {
    "two-words": _("it made two different statements about the same thing"),
    "wrong-mean": _("it computed a wrong mean"),
    "wrong-check": _("it reported wrong numbers"),
    unrevealed: _("it did not reveal its part of a random draw"),
    absent: _("it was absent"),
  },
  unable: (problem: string) =>
    _(
      "Your device could not check another participant's work: %(problem)s Others check for some rounds; its own work counts as before.",
      { problem },
    ),
};
