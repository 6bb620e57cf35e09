import { _ } from "./gettext";

/** The step that describes a task, and the page that completes the description later. */
export const say = {
  noText: _("Nothing yet. Say what the model learns, what it is for, and what people should know."),
  pictureTooLong: _("A picture may have at most 5 MB. Make it smaller, 1280 pixels wide for example."),
  readingPicture: _("The server reads the picture…"),
};
