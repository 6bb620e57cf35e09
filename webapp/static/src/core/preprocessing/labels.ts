/** Converts labels, names of classes or numbers, to values that are stored. */

import { later } from "../user-messages";
import { DataProblem } from "./data-problem";
import type { LabelRule, StoredSpec } from "./declaration";
import { parseNumber } from "./numbers";

/** Returns the shape and dtype of a stored label. */
export function labelSpec(rule: LabelRule): StoredSpec {
  if (rule.kind === "number" || rule.encoding === "number") return { shape: [1], dtype: "float32" };
  if (rule.encoding === "index") return { shape: [], dtype: "int32" };
  return { shape: [rule.classes.length], dtype: "float32" };
}

/** Returns the position of the class called `name`. Throws DataProblem for an unknown name. */
export function classPosition(classes: readonly string[], name: string): number {
  const position = classes.indexOf(name);
  if (position < 0)
    throw new DataProblem(later("'%(name)s' is none of the classes %(classes)s", { name, classes }));
  return position;
}

/** Returns the stored values of a label that is written `text`. */
export function encodeLabel(rule: LabelRule, text: string, decimal = "."): readonly number[] {
  if (rule.kind === "number") return [Math.fround(parseNumber(text, decimal))];
  const position = classPosition(rule.classes, text);
  if (rule.encoding !== "one-hot") return [position];
  return rule.classes.map((_, i) => (i === position ? 1 : 0));
}
