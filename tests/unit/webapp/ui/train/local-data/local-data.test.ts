// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Report } from "../../../../../../webapp/static/src/core/messages/data-reader";
import { requireElement } from "../../../../../../webapp/static/src/ui/lib/dom";
import { bindLocalData } from "../../../../../../webapp/static/src/ui/train/local-data/local-data";

const PARTS = `own-wanted own-classes own-drop own-folders own-progress own-line own-found own-problems
  own-problem-title own-problem-list own-counts own-preview own-kept own-kept-line`.split(/\s+/);

/** A reader to whom any files are too few. */
class Reader {
  onmessage: (event: { data: unknown }) => void = () => undefined;

  postMessage({ id, files }: { id: number; files: readonly unknown[] }): void {
    const report: Report = {
      examples: files.length,
      counts: { train: files.length, holdout: 0 },
      classes: null,
      problems: [],
      problemCount: 0,
      missing: "Add more.",
      preview: { kind: "image", thumbnails: [] },
    };
    this.onmessage({ data: { type: "report", id, report } });
  }
}

beforeEach(() => {
  document.body.innerHTML = `<section data-own data-task="shapes">
    ${PARTS.map((name) => `<p data-${name}></p>`).join("")}<select data-own-class></select>
    <input type="file" data-own-files><input type="checkbox" data-own-keep>
    <button data-own-clear></button><button data-own-forget></button></section>`;
  vi.stubGlobal("Worker", Reader);
  vi.stubGlobal("indexedDB", {
    open: () => {
      throw new DOMException("Nothing is kept here.");
    },
  });
  const data = {
    preprocess: { kind: "array", x: ["x"], y: ["y"] },
    volunteer: { minimum: 2, maximum: 9, holdout: 0 },
  };
  vi.stubGlobal("fetch", async () => Response.json(data));
});
afterEach(() => vi.unstubAllGlobals());

test("too few files are shown as lacking, and none as nothing chosen", async () => {
  bindLocalData(requireElement(document, "own"), () => undefined);
  const input = requireElement<HTMLInputElement>(document, "own-files");
  const line = requireElement(document, "own-line");
  await vi.waitFor(() => expect(requireElement(document, "own-wanted").textContent).not.toBe(""));
  Object.defineProperty(input, "files", { value: [new File(["1"], "1.csv")] });
  input.dispatchEvent(new Event("change"));
  await vi.waitFor(() => expect(line.textContent).toContain("Add more."));
  expect(line.classList.contains("lacking")).toBe(true);
  requireElement(document, "own-clear").click();
  await vi.waitFor(() => expect(line.textContent).toBe("Nothing is chosen yet."));
  expect(line.classList.contains("lacking")).toBe(false);
});
