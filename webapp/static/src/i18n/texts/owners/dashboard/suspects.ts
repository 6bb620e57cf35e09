import { number, percent } from "../../../formatting";
import { _, ngettext } from "../gettext";

const REASONS: Readonly<Record<string, string>> = {
  refused: _("malformed or too long"),
  distance: _("far from the others"),
  direction: _("against most others"),
  repetition: _("repeats earlier updates"),
  "left-out": _("left out by the rule"),
};

/** What stands on an owner's dashboard about clients whose updates look false. */
export const suspectWords = {
  reasons: (kinds: readonly string[]) => kinds.map((kind) => REASONS[kind] ?? kind).join(", ") || "–",
  share: percent,
  counting: _("count"),
  weighLess: _("count, and weigh less"),
  waiting: (rounds: number) =>
    ngettext(
      "wait for %(count)s good round: its household is suspect",
      "wait for %(count)s good rounds: its household is suspect",
      rounds,
    ),
  quarantined: (rounds: number) =>
    rounds === 0
      ? _("in quarantine until suspicion is low")
      : ngettext(
          "in quarantine for %(count)s more round at least",
          "in quarantine for %(count)s more rounds at least",
          rounds,
        ),
  /** A round of a timeline; `reasons` are words. */
  round: (round: number, share: string, reasons: string) =>
    _("Round %(round)s: %(share)s, %(reasons)s", { round: number(round), share, reasons }),
  timeline: (rounds: number, bad: number) =>
    _("Of %(rounds)s rounds, %(bad)s with evidence", { rounds: number(rounds), bad: number(bad) }),
  bears: (attackers: number, updates: number, rule: string) =>
    _("In one round the settings bear %(attackers)s of %(updates)s false updates (%(rule)s).", {
      attackers: number(attackers),
      updates: number(updates),
      rule,
    }),
  /** Of masked groups: so many attackers spoil as many sums at most. */
  bearsInGroups: (attackers: number, updates: number, groups: number, rule: string) =>
    _(
      "In one round the settings bear %(attackers)s of %(updates)s participants that lie, whatever groups they are in: the sums of %(attackers)s of the %(groups)s masked groups may be false (%(rule)s). They do not show who lied.",
      { attackers: number(attackers), updates: number(updates), groups: number(groups), rule },
    ),
  bearsNone: (updates: number) =>
    _("In one round the settings bear 0 of %(updates)s false updates: the mean has no bound.", {
      updates: number(updates),
    }),
  findsRepeated: (clients: number, updates: number) =>
    _("Over rounds they find up to %(clients)s of %(updates)s participants that lie again and again.", {
      clients: number(clients),
      updates: number(updates),
    }),
  tooFew: _("Participants that lie again and again are not found: that needs 5 updates in a round."),
} as const;
