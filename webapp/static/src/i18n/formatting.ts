/** Figures as people read them; the same as `backend/web/pages/template_words.py` writes on the server. */

import { language } from "./language";

const THIN = "\u202f";

const WHOLE = new Intl.NumberFormat(language, { maximumFractionDigits: 0, useGrouping: true });
const SHARE = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const AXIS_SHARE = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const COMPACT = new Intl.NumberFormat(language, {
  notation: "compact",
  compactDisplay: "long",
  maximumFractionDigits: 1,
});
const DIGITS = new Intl.NumberFormat(language, { maximumSignificantDigits: 4, useGrouping: false });

/** A whole number with its thousands apart: by a thin space, in all languages (ISO 80000-1). */
export function number(value: number): string {
  const parts = WHOLE.formatToParts(Math.round(value) + 0);
  return parts.map(({ type, value }) => (type === "group" ? THIN : value)).join("");
}

/** A count in words: `12`, `4.5 thousand`, `3.4 billion`. */
export function compact(value: number): string {
  return COMPACT.format(value);
}

/** A share between 0 and 1 on an axis: `75 %`, `97.5 %`. */
export function axisPercent(share: number): string {
  return `${AXIS_SHARE.format(share * 100)}${THIN}%`;
}

/** Bytes as `1.4 MB`. */
export function megabytes(bytes: number): string {
  return `${tenths(bytes / 1e6)} MB`;
}

/** A share between 0 and 1 as `93.1 %`. */
export function percent(share: number | null): string {
  return share === null ? "–" : `${SHARE.format(share * 100)}${THIN}%`;
}

/** A loss with up to four digits. */
export function decimal(value: number): string {
  return DIGITS.format(value);
}

/** One digit after the decimal sign: `1.2`. */
export function tenths(value: number): string {
  return SHARE.format(value);
}

/** `0.4 ms`, `12 ms`, `1.3 s`. */
export function milliseconds(value: number): string {
  if (value >= 1000) return `${tenths(value / 1000)} s`;
  return `${value >= 10 ? number(value) : tenths(value)} ms`;
}

/** Whole seconds, rounded up, never below zero. */
export function seconds(value: number): string {
  return `${Math.max(0, Math.ceil(value))} s`;
}
