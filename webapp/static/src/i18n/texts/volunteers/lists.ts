/** Names in a sentence. */

import { number } from "../../formatting";
import { _ } from "./gettext";

/** Lists names as `cat, dog and bird`; of more than ten, only the first ones. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, 10);
  const more = names.length - shown.length;
  if (more > 0) return _("%(names)s and %(more)s more", { names: shown.join(", "), more: number(more) });
  const last = shown.pop() ?? "";
  return shown.length > 0 ? _("%(names)s and %(last)s", { names: shown.join(", "), last }) : last;
}
