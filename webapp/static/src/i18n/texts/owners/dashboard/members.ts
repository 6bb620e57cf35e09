import { decimal, number } from "../../../formatting";
import { _, ngettext } from "../gettext";

/** What an owner's dashboard says of members that check each other. */
export const memberWords = {
  none: "–",
  count: number,
  radius: (radius: number | null) => (radius === null ? "–" : decimal(radius)),
  seat: (missed: number) =>
    missed === 0
      ? _("seat")
      : ngettext("seat, missed %(count)s round", "seat, missed %(count)s rounds", missed),
  probation: (rounds: number, probation: number, passed: number, audits: number) =>
    _("on probation: %(rounds)s of %(probation)s rounds, found right by %(passed)s of %(audits)s members", {
      rounds: number(rounds),
      probation: number(probation),
      passed: number(passed),
      audits: number(audits),
    }),
  works: _("works"),
  onlyWorks: (from: number) =>
    _("works; cannot check others, is asked again from round %(from)s", { from: number(from) }),
  validates: (member: string) => _("checks the work of %(member)s", { member }),
  validatesAgain: (member: string, round: number) =>
    _("checks the doubtful work of %(member)s in round %(round)s", { member, round: number(round) }),
  rests: (until: number, missed: number) =>
    _("rests until round %(until)s: missing in round %(missed)s", {
      until: number(until),
      missed: number(missed),
    }),
  accused: (member: string, round: number) =>
    _("in court: accused by %(member)s, all do its work of round %(round)s again", {
      member,
      round: number(round),
    }),
  disputed: (accuser: string, second: string, round: number) =>
    _("in court: %(accuser)s found its work of round %(round)s wrong and %(second)s right, all do it again", {
      accuser,
      second,
      round: number(round),
    }),
  suspected: (member: string, round: number) =>
    _("accused by %(member)s: one more member does its work of round %(round)s again", {
      member,
      round: number(round),
    }),
  hidden: (round: number) =>
    _("in court: not shown, all ask for its work of round %(round)s", { round: number(round) }),
  doubtful: (round: number) =>
    _("in doubt: one more member does its work of round %(round)s again", { round: number(round) }),
  unknown: _("The server knows no agreed state yet. After a restart, members send it again."),
  present: (next: number, present: number, seats: number, enough: number) =>
    _("In round %(next)s, %(present)s of %(seats)s seats take part; %(enough)s decide.", {
      next: number(next),
      present: number(present),
      seats: number(seats),
      enough: number(enough),
    }),
  resting: (resting: number, seats: number, enough: number) =>
    ngettext(
      "%(resting)s of %(seats)s seats rest, more than a third: %(count)s member is enough to decide. Find out why these devices are silent or slow.",
      "%(resting)s of %(seats)s seats rest, more than a third: %(count)s members are enough to decide. Find out why these devices are silent or slow.",
      enough,
      { resting: number(resting), seats: number(seats) },
    ),
  unable: (unable: number, seats: number) =>
    _(
      "%(unable)s of %(seats)s members with a seat cannot check others' work, more than a third: fewer members check all the others. Find out whether these devices have enough memory and receive their examples.",
      { unable: number(unable), seats: number(seats) },
    ),
} as const;
