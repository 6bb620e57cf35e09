// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { requireElement } from "../../../../../webapp/static/src/ui/lib/dom";
import { ControlCard } from "../../../../../webapp/static/src/ui/train/control-card";

const PARTS = `status status-line status-hint status-spoken examples backend step-time awake recovered
  backends curve-mine mine-none invite`.split(/\s+/);

// A card draws each second as long as its page is there, and these pages end with their test.
afterEach(() => {
  vi.useRealTimers();
});

beforeEach(() => {
  vi.useFakeTimers();
  document.body.innerHTML = `${PARTS.map((name) => `<p data-${name}></p>`).join("")}
    <progress data-progress></progress><button data-action></button>
    <dialog data-invite-dialog><input data-invite-address>
      <p data-invite-alone></p><button data-invite-copy></button><button data-invite-send></button>
      <img data-invite-qr><textarea data-invite-embed></textarea><button data-embed-copy></button></dialog>`;
});

/** A card whose page writes down what it is asked to do. */
function card(running: boolean): string[] {
  const asked: string[] = [];
  const status = { phase: "training", line: "Training", hint: "", spoken: "Training", steps: null };
  new ControlCard(document.body).bind({
    look: () => ({ status, running, examples: 0, loaded: null, stepMs: undefined, notice: "" }),
    start: () => asked.push("start"),
    stop: () => asked.push("stop"),
  });
  return asked;
}

test("the button starts the training", () => {
  const asked = card(false);
  requireElement(document, "action").click();
  expect(asked).toEqual(["start"]);
});

test("a page that is closed leaves the training at once", () => {
  const asked = card(true);
  dispatchEvent(new Event("pagehide"));
  expect(asked).toEqual(["stop"]);
});

test("who comes when the training is over is told so, and starts nothing", () => {
  requireElement(document, "status").dataset.phase = "finished";
  card(false);
  expect(requireElement(document, "action").hidden).toBe(true);
  expect(requireElement(document, "status-line").textContent).toBe("The model is trained");
});

test("who proves work before it connects reads so, and nothing else later", () => {
  let phase = "connecting";
  const made = new ControlCard(document.body);
  made.bind({
    look: () => ({
      status: { phase, line: "Other", hint: "", spoken: "Other", steps: null },
      running: true,
      examples: 0,
      loaded: null,
      stepMs: undefined,
      notice: "",
    }),
    start: () => undefined,
    stop: () => undefined,
  });
  const line = () => requireElement(document, "status-line").textContent;
  made.proving(true);
  vi.advanceTimersByTime(2000);
  expect(line()).toBe("Solving a proof of work");
  expect(requireElement(document, "status-hint").textContent).toContain("asks it of newcomers");
  phase = "stopped";
  made.changed();
  vi.advanceTimersByTime(2000);
  expect(line()).toBe("Other");
});
