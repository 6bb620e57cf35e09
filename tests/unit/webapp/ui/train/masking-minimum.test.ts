// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { minimumChoice } from "../../../../../webapp/static/src/ui/train/masking-minimum";

beforeEach(() => localStorage.clear());
afterEach(() => vi.unstubAllGlobals());

/** A page of a task that masks among at least ten, as it is opened. */
function open(masks = true, always = false): () => number {
  document.body.innerHTML = `<details><input data-minimum data-masks="${masks}" data-always="${always}" data-least="10"><p data-minimum-note></p></details>`;
  return minimumChoice(document.body);
}

function type(text: string): void {
  const input = document.querySelector("input");
  if (!input) throw new Error("The page has no field.");
  input.value = text;
  input.dispatchEvent(new Event("input"));
}

function noteClass(): string | undefined {
  return document.querySelector("[data-minimum-note]")?.className;
}

test.each([
  ["", 0],
  ["none", 0],
  ["0", 0],
  ["-4", 0],
  ["1", 3],
  ["5.9", 5],
  ["100000", 2048],
])("%j asks for %d", (text, least) => {
  const minimum = open();
  type(text);
  expect(minimum()).toBe(least);
});

test("in a task that always masks, an empty field asks for what the page promises", () => {
  const minimum = open(true, true);
  expect(minimum()).toBe(10);
  type("7");
  expect(minimum()).toBe(7);
});

test("a condition that this task cannot meet shows as a notice, any other as a note", () => {
  open();
  expect(noteClass()).toBe("note");
  type("11");
  expect(noteClass()).toBe("notice");
  type("10");
  expect(noteClass()).toBe("note");
  open(false);
  expect(noteClass()).toBe("notice");
});

test("a condition is remembered for the next page", () => {
  open();
  type("7");
  expect(open()()).toBe(7);
});

test("without storage, the condition lasts for this visit", () => {
  const closed = () => {
    throw new DOMException("Nothing is kept here.", "SecurityError");
  };
  vi.stubGlobal("localStorage", { getItem: closed, setItem: closed });
  const minimum = open();
  type("7");
  expect(minimum()).toBe(7);
  expect(open()()).toBe(0);
});

test("the conditions stay folded until one of them prevents joining", () => {
  const folded = () => document.querySelector("details")?.open === false;
  open();
  type("5");
  expect(folded()).toBe(true);
  type("12");
  expect(folded()).toBe(false);
  open();
  expect(folded()).toBe(false);
});
