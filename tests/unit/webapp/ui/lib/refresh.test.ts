// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startRefreshing } from "../../../../../webapp/static/src/ui/lib/refresh";

const EVERY = 5;

let changes: (readonly string[])[];
let refresh: () => Promise<void>;

/** What the server answers from now on; null breaks the connection. */
function answer(body: string | null, status = 200): void {
  vi.stubGlobal("fetch", async () => {
    if (body === null) throw new TypeError("The connection broke.");
    return new Response(body, { status });
  });
}

function pageOf(first: string, second: string): string {
  return `<div data-live="first">${first}</div><p>Between.</p><div data-live="second">${second}</div>`;
}

function texts(): (string | null)[] {
  return [...document.querySelectorAll("[data-live]")].map(({ textContent }) => textContent);
}

beforeEach(() => {
  vi.useFakeTimers();
  document.body.innerHTML = pageOf("one", '<a href="/">two</a>');
  changes = [];
  refresh = startRefreshing(EVERY, (names) => changes.push(names));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("only parts that changed are replaced, and the callback gets their names", async () => {
  const kept = document.querySelector("[data-live=second]");
  answer(pageOf("1", '<a href="/">two</a>'));
  await refresh();
  expect(texts()).toEqual(["1", "two"]);
  expect(document.querySelector("[data-live=second]")).toBe(kept);
  expect(changes).toEqual([["first"]]);
});

test("a fold that is open stays open in the part that replaces it", async () => {
  const fold = "<details><summary>More</summary></details>";
  document.body.innerHTML = pageOf(fold, "two");
  refresh = startRefreshing(EVERY);
  const before = document.querySelector("details");
  if (before) before.open = true;
  answer(pageOf(`${fold}, one`, "two"));
  await refresh();
  expect(texts()).toEqual(["More, one", "two"]);
  expect(document.querySelector("details")?.open).toBe(true);
});

test("the parts are asked for where the page is, so that the browser knows whether they are the same", async () => {
  answer(pageOf("1", "2"));
  const fetched = vi.spyOn(globalThis, "fetch");
  await refresh();
  const [address] = fetched.mock.calls[0] ?? [];
  expect(address).toBe(`${location.origin}${location.pathname}?live=`);
});

test("a visible page refreshes by itself", async () => {
  answer(pageOf("1", "2"));
  await vi.advanceTimersByTimeAsync(EVERY * 1000 - 1);
  expect(texts()).toEqual(["one", "two"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(texts()).toEqual(["1", "2"]);
});

test("a hidden page asks for nothing", async () => {
  answer(pageOf("1", "2"));
  const hidden = vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
  await vi.advanceTimersByTimeAsync(EVERY * 10_000);
  hidden.mockRestore();
  expect(texts()).toEqual(["one", "two"]);
});

test("a part that has the keyboard focus is replaced only after it loses it", async () => {
  document.querySelector("a")?.focus();
  answer(pageOf("1", '<a href="/">2</a>'));
  await refresh();
  expect(texts()).toEqual(["1", "two"]);
  document.querySelector("a")?.blur();
  await refresh();
  expect(texts()).toEqual(["1", "2"]);
  expect(changes).toEqual([["first"], ["second"]]);
});

test("what a script changed in a part stays while the server sends the same", async () => {
  const first = document.querySelector("[data-live=first]");
  if (first) first.textContent = "one, as the reader's clock has it";
  answer(pageOf("one", "2"));
  await refresh();
  expect(texts()).toEqual(["one, as the reader's clock has it", "2"]);
});

test.each([
  ["breaks the connection", null, 200],
  ["refuses", pageOf("1", "2"), 503],
])("a server that %s leaves the page as it was", async (_, body, status) => {
  answer(body, status);
  await refresh();
  expect(texts()).toEqual(["one", "two"]);
  expect(changes).toEqual([]);
});
