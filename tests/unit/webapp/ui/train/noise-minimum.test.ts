// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { noiseChoice } from "../../../../../webapp/static/src/ui/train/noise-minimum";

beforeEach(() => localStorage.clear());

/** A page of a task whose devices add this noise, as it is opened. */
function open(offered = 2): () => number {
  document.body.innerHTML = `<input data-noise data-offered="${offered}"><p data-noise-note></p>`;
  return noiseChoice(document.body);
}

function type(text: string): void {
  const input = document.querySelector("input");
  if (!input) throw new Error("The page has no field.");
  input.value = text;
  input.dispatchEvent(new Event("input"));
}

function note(): Element | null {
  return document.querySelector("[data-noise-note]");
}

test.each([
  ["", 0],
  ["much", 0],
  ["-1", 0],
  ["Infinity", 0],
  ["0.5", 0.5],
  ["4", 4],
])("%j asks for %d", (text, noise) => {
  const minimum = open();
  type(text);
  expect(minimum()).toBe(noise);
});

test("more noise than this task has shows as a notice, any other as a note", () => {
  open();
  expect(note()?.className).toBe("note");
  expect(note()?.textContent).toContain("2");
  type("2.5");
  expect(note()?.className).toBe("notice");
  type("2");
  expect(note()?.className).toBe("note");
  open(0);
  expect(note()?.className).toBe("notice");
});

test("a volunteer may ask for as much noise as the note says", () => {
  open(4.245 / Math.sqrt(43));
  expect(note()?.textContent).toContain("at least 0.647");
  type("0.647");
  expect(note()?.className).toBe("note");
  type("0.648");
  expect(note()?.className).toBe("notice");
});

test("it is remembered for the next page", () => {
  open();
  type("1.5");
  expect(open()()).toBe(1.5);
});
