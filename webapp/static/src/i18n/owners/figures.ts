/** Sizes and times as owners read them. */

import { counted, number, tenths } from "../formatting";

export function size(bytes: number): string {
  if (bytes < 1e3) return counted(bytes, "byte");
  if (bytes < 1e6) return `${tenths(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${tenths(bytes / 1e6)} MB` : `${tenths(bytes / 1e9)} GB`;
}

/** Roughly: seconds up to a minute and a half, then minutes, then hours. */
export function duration(seconds: number): string {
  if (seconds < 90) return counted(Math.max(1, Math.ceil(seconds)), "second");
  if (seconds < 5400) return counted(Math.round(seconds / 60), "minute");
  return `${tenths(seconds / 3600)} hours`;
}

export function shape(sizes: readonly number[]): string {
  return sizes.length === 0 ? "one number" : sizes.map(number).join(" × ");
}
