/** The columns of a table: their roles can be changed, and the declaration changes with them. */

import { say } from "../../../i18n/texts/owners/preprocess";
import { node } from "../nodes";
import { type DraftTable, isTable, type Value } from "../record";
import type { FoundColumn } from "./findings";

export type Role = keyof typeof say.column;
type Empty = keyof typeof say.when;

/** Returns the current role of a column. */
export function roleOf(preprocess: DraftTable, name: string): Role {
  const input = declared(preprocess.columns).find((one) => one.name === name);
  if (input) return input.kind === "category" ? "category" : "number";
  const label = declared(preprocess.labels).find((one) => one.name === name);
  return label === undefined ? "ignore" : label.kind === "number" ? "target" : "class";
}

/** Returns the change of [data.preprocess] that gives `column` the role `role`; there is only one label. */
export function withRole(preprocess: DraftTable, column: FoundColumn, role: Role): DraftTable {
  const { name } = column;
  const columns = declared(preprocess.columns).filter((one) => one.name !== name);
  const labels = declared(preprocess.labels).filter((one) => one.name !== name);
  if (role === "number")
    columns.push({
      name,
      kind: "number",
      scaling: "standard",
      ...(column.missing ? { missing: "mean" } : {}),
    });
  if (role === "category") columns.push({ name, kind: "category", missing: "none", unknown: "none" });
  if (role === "target") return { columns, labels: [{ name, kind: "number" }] };
  if (role !== "class") return { columns, labels };
  const classes = Object.keys(column.values).sort();
  const encoding = labelEncoding(preprocess, classes.length);
  return { columns, labels: [{ name, kind: "class", ...(classes.length > 1 ? { classes } : {}), encoding }] };
}

/** Encodes the label like the earlier one; otherwise as a probability if there are two classes. */
function labelEncoding(preprocess: DraftTable, classes: number): Value {
  const currentEncoding = declared(preprocess.labels)[0]?.encoding;
  return currentEncoding ?? (classes === 2 ? "number" : "index");
}

function withEmpty(preprocess: DraftTable, name: string, missing: string): DraftTable {
  const columns = declared(preprocess.columns).map((one) => (one.name === name ? { ...one, missing } : one));
  return { columns };
}

/** Returns a row for each column. */
export function columnRows(
  preprocess: DraftTable,
  columns: readonly FoundColumn[],
  save: (change: DraftTable) => void,
): readonly HTMLElement[] {
  return columns.map((column) => {
    const role = roleOf(preprocess, column.name);
    const name = node("th", column.name);
    name.scope = "row";
    const roles = (Object.keys(say.column) as Role[]).filter((one) => fits(one, column) || one === role);
    const chosen = options(roles, say.column, role, say.role(column.name), (value) =>
      save(withRole(preprocess, column, value)),
    );
    return node(
      "tr",
      "",
      "",
      name,
      cell(chosen),
      cell(emptyOf(preprocess, column, role, save)),
      node("td", inEncoding(column)),
    );
  });
}

function emptyOf(
  preprocess: DraftTable,
  column: FoundColumn,
  role: Role,
  save: (change: DraftTable) => void,
): Node {
  if (role !== "number" && role !== "category") return document.createTextNode("–");
  const missing = declared(preprocess.columns).find((one) => one.name === column.name)?.missing ?? "error";
  if (typeof missing !== "string") return document.createTextNode(`${missing}`);
  const ways: readonly Empty[] = role === "number" ? ["error", "mean", "median"] : ["error", "none", "own"];
  return options(ways, say.when, missing as Empty, say.empty(column.name), (value) =>
    save(withEmpty(preprocess, column.name, value)),
  );
}

function fits(role: Role, column: FoundColumn): boolean {
  return (role !== "number" && role !== "target") || column.kind === "number" || column.least !== null;
}

function inEncoding({ least, mean, most, missing, values, different }: FoundColumn): string {
  if (least !== null && mean !== null && most !== null) return say.numbers(least, mean, most, missing);
  return say.values(Object.keys(values).slice(0, 4), different, missing);
}

function options<T extends string>(
  values: readonly T[],
  names: Readonly<Record<T, string>>,
  now: T,
  label: string,
  chosen: (value: T) => void,
): HTMLSelectElement {
  const made = node("select");
  for (const value of values) made.add(new Option(names[value], value));
  made.value = now;
  made.setAttribute("aria-label", label);
  made.addEventListener("change", () => chosen(made.value as T));
  return made;
}

function cell(content: Node): HTMLElement {
  return node("td", "", "", content);
}

function declared(value: Value | undefined): DraftTable[] {
  return Array.isArray(value) ? value.filter(isTable) : [];
}
