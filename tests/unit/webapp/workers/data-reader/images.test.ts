import { describe, expect, it } from "vitest";
import { DataProblem } from "../../../../../webapp/static/src/core/preprocessing/data-problem";
import type { ImageSpec } from "../../../../../webapp/static/src/core/preprocessing/declaration";
import type { Pixels } from "../../../../../webapp/static/src/core/preprocessing/images/pixels";
import { interleaveLabels } from "../../../../../webapp/static/src/workers/data-reader/images";
import { all, read } from "../../core/preprocessing/file-reading";
import { zipped } from "../../core/preprocessing/zip-writer";

const spec: ImageSpec = {
  format: "minga-preprocess/1",
  kind: "image",
  inputs: [{ shape: [1, 1, 1], dtype: "uint8" }],
  labels: [{ shape: [], dtype: "int32" }],
  size: [1, 1],
  channels: 1,
  fit: "cover",
  resize: "bilinear",
  background: [0, 0, 0],
  label: { kind: "class", classes: ["cat", "dog"], encoding: "index" },
};

/** A decoder of pictures of one gray pixel, whose file holds its level as text. */
async function decode(file: Blob): Promise<Pixels> {
  const level = Number(await file.text());
  if (Number.isNaN(level)) throw new DataProblem("This picture cannot be read");
  return { width: 1, height: 1, channels: 4, values: Uint8Array.of(level, level, level, 255) };
}

const files = {
  "pets/dog/2.png": "20",
  "pets/cat/1.png": "10",
  "pets/cat/broken.png": "oops",
  "pets/dogs/3.png": "30",
  "pets/dogs/4.png": "40",
  "5.png": "50",
};

describe("pictures in folders", () => {
  it("become examples in the order of their paths, each of its folder's class", async () => {
    const { understood } = await read(spec, files, {}, decode);
    const { x, y } = await all(understood);
    expect(x[0]?.values).toEqual(Uint8Array.of(10, 20));
    expect(y[0]?.values).toEqual(Int32Array.of(0, 1));
  });

  it("that are broken or of no class are named, with what to do", async () => {
    const { report } = await read(spec, files, {}, decode);
    expect(report.problems.map(({ where }) => where)).toEqual(["1 file", "dogs/", "pets/cat/broken.png"]);
    expect(report.problems[1]?.text).toContain("No class is called 'dogs'; the classes are cat and dog.");
    expect(report.problems[2]?.text).toBe("This picture cannot be read. It is left out.");
    expect(report.classes).toEqual([
      { name: "cat", count: 1 },
      { name: "dog", count: 1 },
    ]);
  });

  it("that are too few or too many say how many it takes", async () => {
    const few = await read(spec, files, { minimum: 5 }, decode);
    expect(few.report.missing).toBe(
      "This task needs at least 5 examples from each device; these are 2. Add 3 more.",
    );
    const many = await read(spec, files, { maximum: 1 }, decode);
    expect(many.report.missing).toContain("at most 1 example from");
    const enough = await read(spec, files, { minimum: 2, maximum: 2 }, decode);
    expect(enough.report.missing).toBeNull();
  });

  it("show some of each class first", () => {
    expect(interleaveLabels(["a", "a", "a", "b", "c", "c"])).toEqual([0, 3, 4, 1, 5, 2]);
  });

  it("are held out in part, the same ones at every visit", async () => {
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`cat/${i}.png`, `${i}`]));
    const once = await read(spec, many, { holdout: 0.1 }, decode);
    const again = await read(spec, many, { holdout: 0.1 }, decode);
    expect(once.report.counts).toEqual({ train: 18, holdout: 2 });
    expect(again.understood.split).toEqual(once.understood.split);
  });
});

describe("pictures in a zip", () => {
  const zip = (more: Readonly<Record<string, string>> = {}) =>
    zipped({
      "pets/dog/2.png": "20",
      "pets/": "",
      "pets/cat/1.png": "10",
      "README.txt": "Not a picture.",
      "__MACOSX/pets/cat/1.png": "oops",
      "pets/cat/.hidden.png": "oops",
      ...more,
    });

  it("are examples as in a folder, in the order of their paths, and what else is in it counts for nothing", async () => {
    const { understood, report } = await read(spec, { "pets.zip": zip() }, {}, decode);
    const { x, y } = await all(understood);
    expect(x[0]?.values).toEqual(Uint8Array.of(10, 20));
    expect(y[0]?.values).toEqual(Int32Array.of(0, 1));
    expect(report.problemCount).toBe(0);
  });

  it.each(["../cat/3.png", "/cat/3.png", "cat\\3.png", "c:/cat/3.png"])(
    "are refused with '%s' among them",
    async (path) => {
      const { report } = await read(spec, { "pets.zip": zip({ [path]: "30" }) }, {}, decode);
      expect(report.examples).toBe(0);
      expect(report.problems[0]?.text).toBe("It holds a path that leads elsewhere. It is left out.");
    },
  );

  it("that is damaged are told", async () => {
    const { report } = await read(spec, { "pets.zip": zip().slice(0, -30) }, {}, decode);
    expect(report.problems[0]?.text).toContain("This is not a zip file, or it is damaged. Create it again");
  });
});
