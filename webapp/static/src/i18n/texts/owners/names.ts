import { _ } from "./gettext";

/** The field of a task's name. */
export const say = {
  form: _("A name has 1 to 64 characters: a to z, 0 to 9 and -, and does not begin with -."),
  take: (name: string) => _("Take %(name)s", { name }),
};
