/** Parses numbers as tables write them. */

import { DataProblem } from "./data-problem";

const NUMBER = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** Returns the nearest float64; `decimal` is the decimal separator. Throws DataProblem for anything else. */
export function parseNumber(text: string, decimal: string): number {
  const pointed = decimal === "." ? text : text.replaceAll(".", "x").replaceAll(decimal, ".");
  const value = NUMBER.test(pointed) ? Number(pointed) : Number.NaN;
  if (!Number.isFinite(Math.fround(value))) {
    const such = decimal === "." ? "12 or 3.5" : `12 or 3${decimal}5`;
    throw new DataProblem(`'${text}' is no number; write it like ${such}`);
  }
  return value;
}
