import { _, ngettext } from "./gettext";

/** What the panel of a volunteer's linked devices says. */
export const devices = {
  noKey: _("This is no key of devices. Copy all of it from another device of yours."),
  known: (name: string) => _("Together you are %(name)s.", { name }),
  here: (name: string) => _("%(name)s, this device", { name }),
  counted: (count: number) => ngettext("%(count)s contribution", "%(count)s contributions", count),
  learned: (count: number) => ngettext("%(count)s example", "%(count)s examples", count),
  together: _("Together in this task"),
};
