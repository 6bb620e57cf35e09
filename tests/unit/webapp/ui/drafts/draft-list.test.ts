// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bindDraftList } from "../../../../../webapp/static/src/ui/drafts/draft-list";
import { requireElement } from "../../../../../webapp/static/src/ui/lib/dom";

beforeEach(() => {
  vi.useFakeTimers();
  document.body.innerHTML = `<p data-problem></p>
    <form data-begin-form><input data-begin-title><input data-begin-name><p data-name-problem></p>
      <p data-name-free hidden><button data-name-take></button></p></form>
    <form data-bring-form><p data-bring-status></p></form>`;
});
afterEach(() => void vi.useRealTimers());

const field = (name: string) => requireElement<HTMLInputElement>(document, name);

test("the name follows the title as it is typed, until somebody chooses one", () => {
  bindDraftList();
  field("begin-title").value = "Ten things";
  field("begin-title").dispatchEvent(new Event("input"));
  expect(field("begin-name").value).toBe("ten-things");
  field("begin-name").value = "ten";
  field("begin-name").dispatchEvent(new Event("input"));
  field("begin-title").dispatchEvent(new Event("input"));
  expect(field("begin-name").value).toBe("ten");
});

test("a title that was typed before the script ran has a name, too", () => {
  field("begin-title").value = "Ten things";
  bindDraftList();
  expect(field("begin-name").value).toBe("ten-things");
});
