// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { showTimeline } from "../../../../../webapp/static/src/ui/task/timeline";

const TIME = "2026-03-01T12:00:00Z";

function show(...rounds: readonly number[]): void {
  const items = rounds.map(
    (round) =>
      `<li data-round="${round}"><h3 data-ending> Round ${round} made version ${round} </h3>` +
      `<time datetime="${TIME}">${TIME}</time></li>`,
  );
  document.body.innerHTML = `<p role="status" data-told></p><ol>${items.join("")}</ol>`;
}

function told(): string | null | undefined {
  return document.querySelector("[data-told]")?.textContent;
}

/** The list as the server sends it next; what was told stays. */
function change(...rounds: readonly number[]): void {
  const before = told() ?? "";
  show(...rounds);
  const place = document.querySelector("[data-told]");
  if (place) place.textContent = before;
}

test("screen readers hear once that a round has ended", () => {
  show(1);
  const changed = showTimeline();
  expect(told()).toBe("");
  change(2, 1);
  changed();
  expect(told()).toBe("Round 2 made version 2");
  change(2, 1);
  const place = document.querySelector("[data-told]");
  if (place) place.textContent = "";
  changed();
  expect(told()).toBe("");
});

test("screen readers hear of the very first round", () => {
  show();
  const changed = showTimeline();
  change(1);
  changed();
  expect(told()).toBe("Round 1 made version 1");
});

test("times are shown as the reader's clock has them", () => {
  show(1);
  showTimeline();
  const shown = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  expect(document.querySelector("time")?.textContent).toBe(shown.format(new Date(TIME)));
});
