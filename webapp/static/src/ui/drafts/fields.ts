/** The fields of a step; each is bound to a key of the task file: `data-key="training.epochs"`. */

import type { DraftFrame } from "./frame";
import { type DraftTable, isTable, mergeTables, tableAt, type Value } from "./record";

type FormField = HTMLInputElement | HTMLSelectElement;

/** Binds the fields. Owns their values, and those not saved yet. */
export class FormFields {
  #waiting = 0;
  #task: DraftTable;

  /** `changed` is called after each change, by a field or by another window. */
  constructor(
    private readonly root: ParentNode,
    private readonly frame: DraftFrame,
    private readonly changed: () => void,
  ) {
    this.#task = frame.draft().task;
    root.addEventListener("input", (event) => this.#saveField(event.target));
    frame.onChange(() => {
      if (this.#waiting > 0) return;
      this.#task = frame.draft().task;
      this.#fill();
      changed();
    });
    this.#fill();
  }

  /** The task file with all changes, saved or not. */
  get task(): DraftTable {
    return this.#task;
  }

  /** Changes the task file like a field; the fields are updated. */
  async change(change: DraftTable): Promise<void> {
    this.#task = mergeTables(this.#task, change);
    this.#fill();
    this.changed();
    this.#waiting += 1;
    try {
      await this.frame.save({ task: change });
    } finally {
      this.#waiting -= 1;
    }
    this.#takeSaved(change);
  }

  /** Shows what the server made of a saved change: proposals may follow it. A refused change stays in the fields. */
  #takeSaved(change: DraftTable): void {
    const saved = this.frame.draft().task;
    if (this.#waiting > 0 || JSON.stringify(mergeTables(saved, change)) !== JSON.stringify(saved)) return;
    if (JSON.stringify(saved) === JSON.stringify(this.#task)) return;
    this.#task = saved;
    this.#fill();
    this.changed();
  }

  #saveField(target: EventTarget | null): void {
    if (!(target instanceof HTMLInputElement || target instanceof HTMLSelectElement)) return;
    const key = target.dataset.key;
    if (key === undefined || target.validity.badInput) return;
    const value = inputValue(target);
    void this.change(
      target.dataset.whole === undefined ? changeOf(key, value) : changeWithout(this.#task, key, value),
    );
  }

  #fill(): void {
    for (const field of this.root.querySelectorAll<FormField>("[data-key]")) {
      if (field !== document.activeElement || field.type === "checkbox") fill(field, this.#task);
    }
  }
}

/** Returns the value at `key`, such as `training.epochs`. */
export function valueAt(task: DraftTable, key: string): Value | undefined {
  const names = key.split(".");
  return tableAt(task, ...names.slice(0, -1))[names.at(-1) ?? ""];
}

/** Returns the change that sets `key` to `value`; null removes it. */
export function changeOf(key: string, value: Value): DraftTable {
  return key.split(".").reduceRight<Value>((inner, name) => ({ [name]: inner }), value) as DraftTable;
}

/** Like `changeOf`, but removes the table's other keys: they do not fit this value, nor its absence. */
export function changeWithout(task: DraftTable, key: string, value: Value): DraftTable {
  const names = key.split(".");
  const path = names.slice(0, -1);
  if (value === null) return changeOf(path.join("."), null);
  const others = Object.fromEntries(Object.keys(tableAt(task, ...path)).map((name) => [name, null]));
  return changeOf(path.join("."), { ...others, [names.at(-1) ?? ""]: value });
}

function fill(field: FormField, task: DraftTable): void {
  const current = valueAt(task, field.dataset.key ?? "") ?? null;
  const value = isTable(current)
    ? (current.name ?? null)
    : Array.isArray(current)
      ? current.join(", ")
      : current;
  const shown = value === null ? (field.dataset.usual ?? "") : `${value}`;
  if (!(field instanceof HTMLInputElement)) field.value = shown;
  else if (field.type === "checkbox") field.checked = shown === "true";
  else if (field.type === "radio") field.checked = field.value === shown;
  else if (field.value !== shown) field.value = shown;
}

/** Returns the value of a field; null if it is the default. */
function inputValue(field: FormField): Value {
  const text =
    field instanceof HTMLInputElement && field.type === "checkbox" ? `${field.checked}` : field.value;
  if (text.trim() === "" || text === field.dataset.usual) return null;
  if (field.dataset.list !== undefined) return text.split(/[\s,]+/).filter((one) => one !== "");
  if (field instanceof HTMLInputElement && field.type === "number") return Number(text);
  return field.type === "checkbox" ? text === "true" : text;
}
