import { _ } from "./gettext";

/** The step that describes a task. */
export const say = {
  noText: _("Nothing yet. Say what the model learns, what it is for, and what people should know."),
};
