// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { bindSearch } from "../../../../../webapp/static/src/ui/task/gallery-search";

const TASKS = { Birds: ["images"], Poems: ["text", "own"], Wines: [] };

function card([title, topics]: [string, string[]]): string {
  const found = JSON.stringify(topics);
  return `<li data-card data-words="${title.toLowerCase()}" data-topics='${found}'>${title}</li>`;
}

function topicButton(topic: string): string {
  return `<button name="topic" value="${topic}" aria-pressed="${topic === ""}">${topic}</button>`;
}

function shown(): (string | null)[] {
  const cards = [...document.querySelectorAll<HTMLElement>("[data-card]")];
  return cards.filter(({ hidden }) => !hidden).map(({ textContent }) => textContent);
}

function type(words: string): void {
  const field = document.querySelector("input");
  if (!field) throw new Error("The form has no field.");
  field.value = words;
  field.dispatchEvent(new Event("input"));
}

function press(topic: string): void {
  document.querySelector<HTMLButtonElement>(`button[value="${topic}"][aria-pressed]`)?.click();
}

function pressed(): string[] {
  return [...document.querySelectorAll("button")]
    .filter(({ ariaPressed }) => ariaPressed === "true")
    .map(({ value }) => value);
}

beforeEach(() => {
  history.replaceState(null, "", "/");
  document.body.innerHTML = `
    <form><input data-find-words><button name="topic" value="">Find</button>
      ${["", "images", "own"].map(topicButton).join("")}<p data-found></p></form>
    <p data-none-found hidden></p><ul>${Object.entries(TASKS).map(card).join("")}</ul>`;
  const form = document.querySelector("form");
  if (form) bindSearch(form);
});

test("cards follow what is typed, and the address and the count say so", () => {
  type("bird");
  expect(shown()).toEqual(["Birds"]);
  expect(document.querySelector("[data-found]")?.textContent).toBe("1 of 3 tasks");
  expect(location.search).toBe("?q=bird");
});

test("cards must match both the topic and the words, and the page says when none does", () => {
  type("bird");
  press("own");
  expect(shown()).toEqual([]);
  expect(document.querySelector<HTMLElement>("[data-none-found]")?.hidden).toBe(false);
  expect(pressed()).toEqual(["own"]);
  type("");
  expect(shown()).toEqual(["Poems"]);
  expect(document.querySelector<HTMLElement>("[data-none-found]")?.hidden).toBe(true);
});

test("the button of all topics brings all cards back", () => {
  press("images");
  expect(location.search).toBe("?topic=images");
  press("");
  expect(shown()).toEqual(Object.keys(TASKS));
  expect(location.search).toBe("");
});
