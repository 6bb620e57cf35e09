/** Sizes and times as owners read them. */

import { number, tenths } from "../../formatting";
import { _, ngettext } from "./gettext";

export function size(bytes: number): string {
  if (bytes < 1e3) return ngettext("%(count)s byte", "%(count)s bytes", bytes);
  if (bytes < 1e6) return `${tenths(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${tenths(bytes / 1e6)} MB` : `${tenths(bytes / 1e9)} GB`;
}

/** Roughly: seconds up to a minute and a half, then minutes, then hours. */
export function duration(seconds: number): string {
  if (seconds < 90) return ngettext("%(count)s second", "%(count)s seconds", Math.max(1, Math.ceil(seconds)));
  if (seconds < 5400) return ngettext("%(count)s minute", "%(count)s minutes", Math.round(seconds / 60));
  return _("%(hours)s hours", { hours: tenths(seconds / 3600) });
}

export function shape(sizes: readonly number[]): string {
  return sizes.length === 0 ? _("one number") : sizes.map(number).join(" × ");
}
