import { describe, expect, it } from "vitest";
import type { OwnFile, Report } from "../../../../../../webapp/static/src/core/messages/data-reader";
import type {
  DataSpec,
  Preprocess,
} from "../../../../../../webapp/static/src/core/preprocessing/declaration";
import { addFiles, fromInput } from "../../../../../../webapp/static/src/ui/train/local-data/file-selection";
import { showWhiteSpace } from "../../../../../../webapp/static/src/ui/train/local-data/preview";
import {
  problemTitle,
  requiredData,
  summary,
} from "../../../../../../webapp/static/src/ui/train/local-data/texts";

function own(path: string, content = "x", lastModified = 1): OwnFile {
  return { path, file: new File([content], path.split("/").pop() ?? path, { lastModified }) };
}

const paths = (files: readonly OwnFile[]) => files.map(({ path }) => path);

describe("adding files", () => {
  it("keeps the folder that each lies in", () => {
    const files = addFiles([own("pets/cat/1.png")], [own("pets/dog/1.png")], null);
    expect(paths(files)).toEqual(["pets/cat/1.png", "pets/dog/1.png"]);
  });

  it("of a chosen class is as if they lay in its folder", () => {
    expect(paths(addFiles([], [own("holiday/1.png"), own("2.png")], "cat"))).toEqual([
      "cat/1.png",
      "cat/2.png",
    ]);
  });

  it("takes the same file once, and another of the same name beside it", () => {
    const first = addFiles([], [own("1.png")], "cat");
    const again = addFiles(first, [own("1.png"), own("1.png", "longer"), own("1.png", "y", 2)], "cat");
    expect(paths(again)).toEqual(["cat/1.png", "cat/1 (2).png", "cat/1 (3).png"]);
    expect(paths(addFiles(again, [own("1.png", "longer")], "cat"))).toHaveLength(3);
  });

  it("leaves out what systems put into folders", () => {
    const files = ["a.png", ".DS_Store", "Thumbs.db"].map((name) => own(name).file);
    expect(paths(fromInput(files))).toEqual(["a.png"]);
  });
});

const common = { format: "minga-preprocess/1", inputs: [], labels: [] } as const;
const label = { kind: "class", classes: ["cat", "dog"], encoding: "index" } as const;
const volunteer = { minimum: 2, maximum: 500, holdout: 0.1 };
const images = {
  ...common,
  kind: "image",
  size: [32, 32],
  channels: 3,
  fit: "cover",
  resize: "bilinear",
  background: [0, 0, 0],
  label,
} satisfies Preprocess;

describe("what the task needs, in words", () => {
  it("names the classes of pictures", () => {
    expect(requiredData({ preprocess: images, volunteer })).toMatch(
      /^This task needs 2 to 500 pictures from each device. Put them into folders named cat and dog/,
    );
  });

  it("names the columns of a table", () => {
    const column = { kind: "category", column: "Sex" };
    const preprocess = { ...common, kind: "table", columns: [column], label_columns: ["Lived"] };
    expect(requiredData({ preprocess, volunteer } as unknown as DataSpec)).toContain(
      "it needs Sex and Lived.",
    );
  });
});

describe("what became of the files, in words", () => {
  const report: Report = {
    examples: 40,
    counts: { train: 36, holdout: 4 },
    classes: null,
    problems: [{ where: "a.png", text: "It is broken." }],
    problemCount: 1,
    missing: null,
    preview: { kind: "image", thumbnails: [] },
  };

  it("counts what is there to learn from and to measure on", () => {
    expect(summary(report, "image")).toBe("40 pictures ready: 36 to learn from, 4 kept aside to measure on.");
  });

  it("says why they will not do", () => {
    expect(summary({ ...report, missing: "Too few." }, "image")).toBe("Too few.");
  });

  it("counts the problems that are not shown", () => {
    expect(problemTitle(report)).toBe("1 problem was found");
    expect(problemTitle({ ...report, problemCount: 70 })).toBe("70 problems were found, such as");
  });

  it("makes white space visible", () => {
    expect([" a", "\n", "\t", ""].map(showWhiteSpace)).toEqual(["·a", "⏎", "⇥", "□"]);
  });
});
