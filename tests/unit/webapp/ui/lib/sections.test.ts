// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { bindSections, keepOpen } from "../../../../../webapp/static/src/ui/lib/sections";

const PAGE = `
  <section id="first"><p>Always here.</p></section>
  <section><details data-section open>
    <summary><h2 id="words">Words</h2></summary>
    <label>Name <input required></label>
    <p class="problem" role="alert"></p>
    <details><summary>More</summary><input pattern="[a-z]+" value="A"></details>
  </details></section>
  <section><details data-section open><summary><h2 id="costs">Costs</h2></summary><p>Few.</p></details></section>`;

let widen: (() => void) | undefined;

/** Opens the page on a narrow or a wide screen. */
function open(narrow: boolean, page = PAGE): void {
  document.body.innerHTML = page;
  const listeners: ((event: { matches: boolean }) => void)[] = [];
  widen = () => {
    for (const listener of listeners) listener({ matches: false });
  };
  vi.stubGlobal("matchMedia", () => ({
    matches: narrow,
    addEventListener: (_: string, listener: (event: { matches: boolean }) => void) =>
      listeners.push(listener),
  }));
  bindSections();
}

function opened(): boolean[] {
  return [...document.querySelectorAll<HTMLDetailsElement>("[data-section]")].map((section) => section.open);
}

afterEach(() => {
  vi.unstubAllGlobals();
  location.hash = "";
});

test("sections are folded on a narrow screen, and open on a wide one", () => {
  open(true);
  expect(opened()).toEqual([false, false]);
  open(false);
  expect(opened()).toEqual([true, true]);
});

test("a screen that becomes wide opens them", () => {
  open(true);
  widen?.();
  expect(opened()).toEqual([true, true]);
});

test("a problem that appears in a folded section opens it", async () => {
  open(true);
  const problem = document.querySelector("[role=alert]");
  if (problem) problem.textContent = "This name is taken.";
  await vi.waitFor(() => expect(opened()).toEqual([true, false]));
});

test("a section stays open if the page comes with a problem in it", () => {
  open(true, PAGE.replace('role="alert">', 'role="alert">This name is taken.'));
  expect(opened()).toEqual([true, false]);
});

test("a field that the browser refuses opens all folds around it", () => {
  open(true);
  document.querySelector("[pattern]")?.dispatchEvent(new Event("invalid"));
  expect(opened()).toEqual([true, false]);
  expect(document.querySelector<HTMLDetailsElement>("details details")?.open).toBe(true);
});

test("an address that ends in a section's name opens it", () => {
  location.hash = "#costs";
  open(true);
  expect(opened()).toEqual([false, true]);
  location.hash = "#words";
  dispatchEvent(new Event("hashchange"));
  expect(opened()).toEqual([true, true]);
});

test("what replaces a part of the page is as open as what was there", () => {
  const part = (open: string) => {
    const result = document.createElement("div");
    result.innerHTML = `<details data-files="2"${open}></details><details data-files="3"${open}></details>`;
    return result;
  };
  const [old, fresh] = [part(" open"), part("")];
  old.querySelector("details")?.removeAttribute("open");
  keepOpen(old, fresh);
  expect([...fresh.querySelectorAll("details")].map((fold) => fold.open)).toEqual([false, true]);
});
