import { _ } from "./gettext";

/** "Try the model". */
export const trial = {
  looking: _("Looking at it …"),
  reading: _("Reading it …"),
  writing: _("Writing …"),
  written: _("Written."),
  unreachable: _("The task’s data could not be fetched. Try again in a moment."),
  before: _("Before your update"),
  after: _("With your update"),
  both: _("The version that your device trained last answers, without your update and with it."),
  /** The likeliest answer and its chance. */
  sure: (label: string, chance: string) => _("It says %(label)s: %(chance)s sure.", { label, chance }),
  sures: (was: string, chance: string, is: string, then: string) =>
    _("Before your update it said %(was)s, %(chance)s sure; with it, %(is)s, %(then)s sure.", {
      was,
      chance,
      is,
      then,
    }),
  /** Names of numbers and these. */
  numbers: (figures: string) => _("It says %(figures)s.", { figures }),
  bothNumbers: (was: string, is: string) =>
    _("Before your update it said %(was)s; with it, %(is)s.", { was, is }),
  leftOut: (letters: string) => _("Left out because the model does not know it: %(letters)s", { letters }),
  noNumber: (word: string) => _("‘%(word)s’ is no number; write it like 12 or 3.5.", { word }),
};
