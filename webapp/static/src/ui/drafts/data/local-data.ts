/**
 * The requirements for volunteers' own data: their kind, the classes of pictures and recordings, the number of
 * examples of one person.
 */

import { say } from "../../../i18n/texts/owners/data";
import { requireElement, setText } from "../../lib/dom";
import type { DraftFrame } from "../frame";
import { changeBetween, type DraftRecord, type DraftTable, tableAt, type Value } from "../record";

const SIDE = 64;
/** Kinds of files in folders that are named by their class. */
const WITH_CLASSES = ["image", "audio"];
/** The usual spectrograms of a second, by docs/reference/preprocessing.md#recordings. */
const SOUND = { rate: 16_000, seconds: 1, window: 400, hop: 160, bins: 40 };

export function bindOwnData(frame: DraftFrame): void {
  const kind = requireElement<HTMLSelectElement>(document, "own-kind");
  const classes = requireElement<HTMLTextAreaElement>(document, "own-classes");
  const numbers = (["minimum", "maximum"] as const).map(
    (name) => [name, requireElement<HTMLInputElement>(document, `own-${name}`)] as const,
  );

  function show(draft: DraftRecord): void {
    const preprocess = tableAt(draft.task, "data", "preprocess");
    // A field with the focus is being edited, and is not overwritten.
    const idle = (field: Element) => document.activeElement !== field;
    if (idle(kind) && typeof preprocess.kind === "string") kind.value = preprocess.kind;
    if (idle(classes)) classes.value = namesIn(preprocess.classes).join("\n");
    const own = tableAt(draft.task, "data", "volunteer");
    for (const [name, field] of numbers) if (idle(field)) field.value = own[name] ? String(own[name]) : "";
    showKind(kind.value);
  }

  for (const field of [kind, classes, ...numbers.map(([, field]) => field)]) field.disabled = false;
  kind.addEventListener("change", () => {
    showKind(kind.value);
    const current = tableAt(frame.draft().task, "data", "preprocess");
    const preprocess = declared(kind.value, frame.draft(), []);
    // For tables and texts a sample determines the rest.
    const change = preprocess === null ? null : changeBetween(current, preprocess);
    void frame.save({ task: { data: { preprocess: change } } });
  });
  classes.addEventListener("input", () => {
    const names = classes.value
      .split("\n")
      .map((name) => name.trim())
      .filter((name) => name !== "");
    const current = tableAt(frame.draft().task, "data", "preprocess");
    const change =
      current.kind === kind.value ? { classes: names } : declared(kind.value, frame.draft(), names);
    void frame.save({ task: { data: { preprocess: change } } });
  });
  for (const [name, field] of numbers) {
    field.addEventListener("input", () => {
      const value = field.value === "" ? null : field.valueAsNumber;
      if (field.validity.valid) void frame.save({ task: { data: { volunteer: { [name]: value } } } });
    });
  }
  frame.onChange(show);
  show(frame.draft());
}

function showKind(kind: string): void {
  setText(requireElement(document, "own-note"), say.ownNotes[kind] ?? "");
  requireElement(document, "own-classes-field").hidden = !WITH_CLASSES.includes(kind);
}

/** Returns the initial [data.preprocess]; null if it can only be derived from a sample. */
function declared(kind: string, draft: DraftRecord, classes: readonly string[]): DraftTable | null {
  if (kind === "array") return { kind };
  if (!WITH_CLASSES.includes(kind)) return null;
  const shape = pictureShape(draft.model?.inputs[0]?.shape);
  const label = draft.model?.labels[0]?.shape ?? [];
  const encoding = label.length === 0 ? "index" : label[0] === 1 ? "number" : "one-hot";
  if (kind === "audio") return { kind, ...soundOf(shape), classes, encoding };
  const [height = SIDE, width = SIDE, channels = 3] = shape;
  return { kind, size: [height, width], channels: channels === 1 ? 1 : 3, classes, encoding, scale: 1 / 255 };
}

/** Returns the spectrogram of the model's input [frames, bins, 1]; the usual one where it takes another shape. */
function soundOf([frames = 0, bins = 0, channels]: readonly number[]): DraftTable {
  if (channels !== 1 || frames < 2) return { ...SOUND };
  const room = SOUND.rate * SOUND.seconds - SOUND.window;
  const hop = Math.floor(room / (frames - 1));
  return hop >= 16 && Math.floor(room / hop) + 1 === frames ? { ...SOUND, hop, bins } : { ...SOUND, bins };
}

/**
 * Returns height, width and channels of the model's input; empty if it takes no pictures, or there is no model yet.
 */
function pictureShape(shape: readonly number[] | undefined): readonly number[] {
  return shape?.length === 3 ? shape : [];
}

function namesIn(value: Value | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
