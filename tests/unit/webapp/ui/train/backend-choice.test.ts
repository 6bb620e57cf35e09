// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { backendChoice } from "../../../../../webapp/static/src/ui/train/backend-choice";

const RADIOS = ["", "webgpu", "webgl", "wasm", "exact", "cpu"].map(
  (value) => `<input type="radio" name="backend" value="${value}" ${value === "" ? "checked" : ""}>`,
);

beforeEach(() => {
  document.body.innerHTML = `<fieldset data-backends>${RADIOS.join("")}</fieldset>`;
});

function choiceAt(address: string): () => string | null {
  history.replaceState(null, "", address);
  return backendChoice(document.body);
}

test("the address chooses, and a button chooses something else", () => {
  const chosen = choiceAt("/?backend=wasm");
  expect(chosen()).toBe("wasm");
  document.querySelector<HTMLInputElement>("input[value=cpu]")?.click();
  expect(chosen()).toBe("cpu");
});

test.each(["/", "/?backend=", "/?backend=abacus"])("%s leaves the choice to the device", (address) => {
  expect(choiceAt(address)()).toBeNull();
  expect(document.querySelector<HTMLInputElement>("input:checked")?.value).toBe("");
});

test("a task that requires the same bits leaves no choice", () => {
  document.body.innerHTML = '<div data-exact="required"></div>';
  history.replaceState(null, "", "/?backend=webgl");
  const root = document.querySelector<HTMLElement>("[data-exact]") as HTMLElement;
  expect(backendChoice(root)()).toBe("exact");
});
