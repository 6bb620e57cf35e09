// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { tablePager } from "../../../../../webapp/static/src/ui/lib/pager";
import { pageSlice } from "../../../../../webapp/static/src/ui/lib/pages";

let shown: readonly number[];
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const bar = () => document.querySelector("nav") as HTMLElement;
const button = (at: number) => bar().querySelectorAll("button")[at] as HTMLButtonElement;

beforeEach(() => {
  document.body.innerHTML = `<h2 id="people">Participants</h2>
    <div class="scroll" aria-labelledby="people"><table><tbody></tbody></table></div><p>after</p>`;
});

function makePager() {
  return tablePager<number>(document.querySelector("tbody") as HTMLElement, (rows) => {
    shown = rows;
  });
}

test("a page has twenty rows, the last one the rest", () => {
  expect(pageSlice(45, 0)).toEqual({ page: 0, pages: 3, first: 0, end: 20 });
  expect(pageSlice(45, 2)).toEqual({ page: 2, pages: 3, first: 40, end: 45 });
  expect(pageSlice(45, 9).page).toBe(2);
  expect(pageSlice(0, 0)).toEqual({ page: 0, pages: 1, first: 0, end: 0 });
});

test("a short list has no buttons", () => {
  makePager().show(numbers(20));
  expect(shown).toHaveLength(20);
  expect(bar().hidden).toBe(true);
});

test("a long list is turned page by page, and says where it is", () => {
  makePager().show(numbers(45));
  expect(bar().getAttribute("aria-label")).toContain("Participants");
  expect(bar().textContent).toContain("1 to 20 of 45");
  expect(button(0).getAttribute("aria-disabled")).toBe("true");
  button(1).click();
  button(1).click();
  expect(shown).toEqual([41, 42, 43, 44, 45]);
  expect(button(1).getAttribute("aria-disabled")).toBe("true");
  button(1).click();
  expect(shown).toEqual([41, 42, 43, 44, 45]);
});

test("it stays on its page when the list is shown again", () => {
  const pager = makePager();
  pager.show(numbers(45));
  button(1).click();
  pager.show(numbers(46));
  expect(shown[0]).toBe(21);
  pager.show(numbers(5));
  expect(shown).toEqual(numbers(5));
});
