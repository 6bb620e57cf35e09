import { number } from "../../formatting";
import { _ } from "./gettext";

export const gallery = {
  found: (found: number, all: number) =>
    _("%(found)s of %(all)s tasks", { found: number(found), all: number(all) }),
};
