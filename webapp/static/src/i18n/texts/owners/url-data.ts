import { _ } from "./gettext";

/** The address from which volunteers' devices fetch a task's data. */
export const say = {
  wrong: _("Write an address that begins with https:// and ends in the file’s name."),
  bring: _(
    "Bring the same file below, once: then it can be tried here whether browsers can have it from there.",
  ),
  untried: _("Not tried yet. Trying fetches the file into this browser, as volunteers’ browsers will."),
  trying: (here: string, all: string) => _("Fetching the file: %(here)s of %(all)s", { here, all }),
  good: (host: string) =>
    _("This browser had the very file from %(host)s; volunteers’ browsers can, too.", { host }),
  bad: (sentence: string) => _("Volunteers would be told: %(sentence)s", { sentence }),
};
