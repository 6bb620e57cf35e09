import { _ } from "./gettext";

export const invite = {
  copied: _("The address is copied."),
  copyYourself: _("This browser does not let the page copy. The address is selected: copy it from there."),
};
