import { number } from "../../formatting";
import { _ } from "./gettext";

/** The starter models of the step that brings the model. */
export const say = {
  use: _("Use it"),
  chosen: _("Chosen"),
  parameters: (count: number) => _("%(numbers)s parameters.", { numbers: number(count) }),
  replace: (name: string) => _("Begin with this starter model instead of %(name)s?", { name }),
};
