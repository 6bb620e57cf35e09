import { _ } from "./gettext";

/** Drafts that begin with what there is. */
export const say = {
  importing: _("The file is on its way, and is taken apart."),
  silent: _(
    "The connection ended before the file was here. Leave its data out, and bring them in the step for data.",
  ),
};
