import { _ } from "./gettext";

/** Work of the server on a draft. */
export const say = {
  waits: _("Waits for its turn."),
  soon: _("This begins by itself, as soon as the work before it is done."),
  cancelled: _("It was cancelled."),
  outdated: _("Something that this depends on was changed: it has to be done again."),
  missing: _("This has not been done yet."),
};
