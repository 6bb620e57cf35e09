// @vitest-environment happy-dom
import { beforeEach, describe, expect, it } from "vitest";
import { bindOwnData } from "../../../../../../webapp/static/src/ui/drafts/data/local-data";
import type { DraftFrame } from "../../../../../../webapp/static/src/ui/drafts/frame";

interface Saved {
  readonly task: { readonly data: { readonly preprocess: unknown } };
}

let saved: Saved[];

/** The step for a model whose input has this shape. */
function bound(shape: readonly number[] | null): void {
  document.body.innerHTML = `<select data-own-kind><option>image</option><option>audio</option>
    <option>table</option></select><p data-own-note></p><div data-own-classes-field>
    <textarea data-own-classes></textarea></div><input data-own-minimum><input data-own-maximum>`;
  const model = shape === null ? null : { inputs: [{ shape }], labels: [{ shape: [] }] };
  saved = [];
  bindOwnData({
    draft: () => ({ task: {}, model }),
    save: (change: Saved) => void saved.push(change),
    onChange: () => undefined,
  } as unknown as DraftFrame);
}

function choose(kind: string): unknown {
  const select = document.querySelector<HTMLSelectElement>("[data-own-kind]") as HTMLSelectElement;
  select.value = kind;
  select.dispatchEvent(new Event("change"));
  return saved.at(-1)?.task.data.preprocess;
}

const classesShown = () => !document.querySelector<HTMLElement>("[data-own-classes-field]")?.hidden;

describe("recordings that volunteers bring", () => {
  beforeEach(() => bound(null));

  it("are declared as spectrograms of a second, whose classes are asked for", () => {
    expect(choose("audio")).toMatchObject({ kind: "audio", rate: 16_000, seconds: 1, hop: 160, bins: 40 });
    expect(classesShown()).toBe(true);
    choose("table");
    expect(classesShown()).toBe(false);
  });

  it("have the shape that the model takes", () => {
    bound([62, 32, 1]);
    expect(choose("audio")).toMatchObject({ hop: 255, bins: 32 });
    bound([16, 16, 3]);
    expect(choose("audio")).toMatchObject({ hop: 160, bins: 40 });
  });

  it("keep their kind when classes are named", () => {
    choose("audio");
    const classes = document.querySelector("textarea") as HTMLTextAreaElement;
    classes.value = "no\nyes";
    classes.dispatchEvent(new Event("input"));
    expect(saved.at(-1)?.task.data.preprocess).toMatchObject({ kind: "audio", classes: ["no", "yes"] });
  });
});
