import { number, percent } from "../../formatting";
import { _, ngettext } from "./gettext";

export const mistakes = {
  about: {
    "own-aside": _("These are your own held-out examples: your device does not train on them."),
    own: _(
      "These are your own examples, and your device trains on them: the model will be wrong more often on others.",
    ),
    aside: _("Nobody trains on them."),
    dealt: _("Your device trained on them last: the model will be wrong more often on others."),
  },
  /** Where an example has one answer. */
  right: (version: number, right: number, examples: number) =>
    ngettext(
      "Version %(version)s is right with %(right)s of %(count)s example.",
      "Version %(version)s is right with %(right)s of %(count)s examples.",
      examples,
      { version: number(version), right: number(right) },
    ),
  /** Where it has many. */
  share: (version: number, share: number, examples: number) =>
    ngettext(
      "Version %(version)s is right %(share)s of the time in %(count)s example.",
      "Version %(version)s is right %(share)s of the time in %(count)s examples.",
      examples,
      { version: number(version), share: percent(share) },
    ),
  matrix: _("Rows show the true class, columns the model’s answer."),
  often: _("What it takes for what most often."),
  truth: _("It is"),
  guess: _("Taken for"),
  times: _("How often"),
  /** A cell of the matrix, for those who do not see its colour. */
  cell: (truth: string, guess: string, count: number) =>
    _("%(count)s of %(truth)s taken for %(guess)s", { count: number(count), truth, guess }),
  taken: (truth: string, guess: string, chance: number) =>
    _("%(truth)s, taken for %(guess)s (%(chance)s sure)", { truth, guess, chance: percent(chance) }),
  /** Of a text whose next letter or word the model got wrong. */
  next: (truth: string, guess: string, chance: number) =>
    _("Then comes “%(truth)s”; the model says “%(guess)s” (%(chance)s sure)", {
      truth,
      guess,
      chance: percent(chance),
    }),
};
