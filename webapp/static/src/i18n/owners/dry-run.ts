import { figures } from "../en/figures";
import { counted, decimal, milliseconds } from "../formatting";

/** The step `trial`: what the server's step and those of browsers came to. */
export const say = {
  absent: "Not in this browser.",
  agrees: "Right",
  begins: "Begins.",
  differs: "Wrong",
  failed: "Failed",
  lacks: "Not there",
  late: "It took longer than three minutes and was ended.",
  left: "Left out. Press “Try again” to come back to it.",
  onTheirDevice: "Volunteers bring data of their own; each device checks them before it trains.",
  outdated: "before a change",
  reading: "Fetches the first shard and reads it as a volunteer’s browser does.",
  running: "Takes the server’s step.",
  silent: "It failed and did not say why.",
  waiting: "Comes after the server’s step.",
  waitingHere: "Comes next.",
  /** A backend as its makers write it, and the data. */
  what: (what: string) => (what === "data" ? "The data" : figures.backend(what)),
  keras: (difference: number) =>
    difference === 0
      ? "They agree: the outputs of Keras and of the converted model are the same to the last digit."
      : `They agree: the outputs of Keras and of the converted model differ by ${small(difference)} of their length at most.`,
  native: (real: boolean, loss: number, after: number, norm: number, stepMs: number) =>
    `A step on ${real ? "your examples" : "noise"} took ${milliseconds(stepMs)} here and changed the loss from ${decimal(loss)} to ${decimal(after)}. The gradient has the length ${decimal(norm)}.`,
  timed: (text: string, stepMs: number) => `${text} A step took ${milliseconds(stepMs)}.`,
  now: (what: string, left: number) =>
    left === 0 ? `${what}: the last check.` : `${what}. ${counted(left, "check")} more.`,
  /** All checks of this browser are through. */
  over: (right: number, wrong: number) => {
    if (wrong > 0)
      return `Done. ${counted(wrong, "backend")} of this browser took another step than the server.`;
    if (right === 0) return "Done. No backend of this browser could take the step.";
    return `Done. ${counted(right, "backend")} of this browser took the same step as the server.`;
  },
};

/** One digit behind all the zeros: `0.0000003`. */
function small(value: number): string {
  return value.toFixed(Math.min(Math.max(0, -Math.floor(Math.log10(value))), 20));
}
