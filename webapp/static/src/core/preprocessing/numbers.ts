/** Parses numbers as tables write them. */

import { later } from "../user-messages";
import { DataProblem } from "./data-problem";

const NUMBER = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** Returns the nearest float64; `decimal` is the decimal separator. Throws DataProblem for anything else. */
export function parseNumber(text: string, decimal: string): number {
  const pointed = decimal === "." ? text : text.replaceAll(".", "x").replaceAll(decimal, ".");
  const value = NUMBER.test(pointed) ? Number(pointed) : Number.NaN;
  if (!Number.isFinite(Math.fround(value))) {
    throw new DataProblem(
      later("'%(text)s' is no number; write it like 12 or %(example)s", { text, example: `3${decimal}5` }),
    );
  }
  return value;
}
