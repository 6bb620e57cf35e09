/** All options of [data.preprocess] for a kind of data, each with its effect. */

import { say } from "../../../i18n/texts/owners/preprocess";
import { node } from "../nodes";
import { type DraftTable, isTable, type Value } from "../record";

type ChoiceName = keyof typeof say.fields;
type ChoiceEffect = keyof typeof say.effects;
/** Saves a change of [data.preprocess]. */
export type SaveChoices = (change: DraftTable) => void;

/** Returns fields for a kind of data, with their current values. `arrays` are those of the file. */
export function choicesOf(
  preprocess: DraftTable,
  arrays: readonly string[],
  save: SaveChoices,
): readonly HTMLElement[] {
  const pick = (name: ChoiceName, effect: ChoiceEffect, options: readonly string[], asNumber = false) =>
    select(name, effect, options, preprocess[name], (value) =>
      save({ [name]: asNumber ? Number(value) : value }),
    );
  const count = (name: ChoiceName, effect: ChoiceEffect, usual = "") =>
    field(name, effect, preprocess[name], usual, (value) => save({ [name]: value }));
  switch (preprocess.kind) {
    case "image":
      return [
        ...sides(preprocess, save),
        pick("channels", "channels", ["3", "1"], true),
        pick("fit", "fit", ["cover", "contain", "stretch"]),
        pick("resize", "resize", ["bilinear", "area", "bicubic", "nearest"]),
        pick("encoding", "encoding", ["index", "one-hot", "number"]),
        count("scale", "scale", "1"),
      ];
    case "audio":
      return [
        count("rate", "rate", "16000"),
        count("seconds", "seconds", "1"),
        count("window", "window", "400"),
        count("hop", "hop", "160"),
        pick("spectrum", "spectrum", ["mel", "linear"]),
        count("bins", "bins", "40"),
        pick("normalize", "normalize", ["recording", "none"]),
        pick("encoding", "encoding", ["index", "one-hot", "number"]),
      ];
    case "text":
      return textual(preprocess, pick, count, save);
    case "array":
      return [
        ...(["x", "y"] as const).map((name) => {
          const now = preprocess[name];
          const first = Array.isArray(now) ? String(now[0] ?? "") : "";
          return select(name, "arrays", arrays.length > 0 ? arrays : [first], first, (value) =>
            save({ [name]: [value] }),
          );
        }),
        count("scale", "scale", "1"),
      ];
    default:
      return [];
  }
}

function textual(
  preprocess: DraftTable,
  pick: (name: ChoiceName, effect: ChoiceEffect, options: readonly string[]) => HTMLElement,
  count: (name: ChoiceName, effect: ChoiceEffect, usual?: string) => HTMLElement,
  save: SaveChoices,
): readonly HTMLElement[] {
  const labelled = preprocess.labels === "folders" || preprocess.labels === "column";
  const tokenizer = select(
    "tokenizer",
    "tokenizer",
    ["characters", "bytes", "words", "pairs"],
    preprocess.tokenizer,
    (value) =>
      // The earlier vocabulary belonged to the other tokens.
      save({ tokenizer: value, tokens: null, vocabulary: value === "pairs" ? 512 : null }),
  );
  const fixed = preprocess.tokenizer === "bytes" || preprocess.tokens !== undefined;
  return [
    tokenizer,
    count("length", "length"),
    pick("unknown", "unknown", ["error", "own", "drop"]),
    ...(fixed ? [] : [count("vocabulary", "tokenizer")]),
    ...(labelled
      ? [pick("encoding", "encoding", ["index", "one-hot", "number"])]
      : [count("stride", "stride")]),
    tick("lower", "lower", preprocess.lower === true, (value) => save({ lower: value })),
  ];
}

/** Returns fields for height and width, which share one key. */
function sides(preprocess: DraftTable, save: SaveChoices): readonly HTMLElement[] {
  const size = Array.isArray(preprocess.size) ? [...preprocess.size] : [];
  const side = (index: number) => (value: number | null) => {
    if (value === null) return;
    size[index] = value;
    save({ size: [...size] });
  };
  return [field("height", "size", size[0], "", side(0)), field("width", "size", size[1], "", side(1))];
}

function select(
  name: ChoiceName,
  effect: ChoiceEffect,
  options: readonly string[],
  now: Value | undefined,
  chosen: (value: string) => void,
): HTMLElement {
  const made = node("select");
  for (const value of options) {
    made.add(new Option((say.options as Readonly<Record<string, string>>)[value] ?? value, value));
  }
  made.value = now === undefined || isTable(now) ? (options[0] ?? "") : String(now);
  made.addEventListener("change", () => chosen(made.value));
  return labelled(name, effect, made);
}

function field(
  name: ChoiceName,
  effect: ChoiceEffect,
  now: Value | undefined,
  usual: string,
  changed: (value: number | null) => void,
): HTMLElement {
  const made = node("input");
  made.type = "number";
  made.step = "any";
  made.placeholder = usual;
  // Lists with a number for each channel can only be edited in the task file.
  made.disabled = Array.isArray(now);
  made.value = typeof now === "number" ? String(Number(now.toPrecision(6))) : "";
  made.addEventListener("input", () => {
    if (!made.validity.badInput) changed(made.value === "" ? null : Number(made.value));
  });
  return labelled(name, effect, made);
}

function tick(
  name: ChoiceName,
  effect: ChoiceEffect,
  now: boolean,
  changed: (value: boolean | null) => void,
): HTMLElement {
  const made = node("input");
  made.type = "checkbox";
  made.checked = now;
  made.addEventListener("change", () => changed(made.checked ? true : null));
  const label = node("label", "", "tick", made, document.createTextNode(` ${say.fields[name]}`));
  return node("div", "", "chosen", label, node("p", say.effects[effect], "note"));
}

function labelled(name: ChoiceName, effect: ChoiceEffect, control: HTMLElement): HTMLElement {
  control.dataset.choice = name;
  const label = node("label", "", "field", document.createTextNode(`${say.fields[name]} `), control);
  return node("div", "", "chosen", label, node("p", say.effects[effect], "note"));
}
