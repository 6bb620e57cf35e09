// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { bindCancelButton } from "../../../../../webapp/static/src/ui/drafts/cancel-button";

it("cancels the job that is followed, once, and is hidden without one", () => {
  const button = document.createElement("button");
  button.hidden = true;
  const cancelled: string[] = [];
  const work = (name: string) => ({ cancel: async () => void cancelled.push(name) });
  const follows = bindCancelButton(button);
  button.click();
  follows(work("first"));
  expect([button.hidden, button.disabled]).toEqual([false, false]);
  button.click();
  button.click();
  expect([cancelled, button.disabled]).toEqual([["first"], true]);
  follows(null);
  expect(button.hidden).toBe(true);
  follows(work("second"));
  button.click();
  expect(cancelled).toEqual(["first", "second"]);
});
