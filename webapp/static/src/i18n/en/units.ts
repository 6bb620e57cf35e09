import { counted, number, percent } from "../formatting";
import { figures } from "./figures";

const agreeing = (checked: number) =>
  `${counted(checked, "result")} of yours in a row ${checked === 1 ? "agrees" : "agree"} with what others sent`;

/** What a device does in a task of work units. */
export const units = {
  press: "Press the button and your device gets its first unit: a part of the examples.",
  finishing: (units: number) => `Your device finishes ${counted(units, "unit")}, then it stops.`,
  unit: (unit: number, epoch: number) => `Unit ${number(unit)} of epoch ${number(epoch)}`,
  fetching: "Training: fetching the examples",
  beginning: "Training: the first step",
  allDone: "All epochs are done. Thank you for your part in it!",
  sending: "Sending what was learned",
  sendingHint: (unit: string) => `${unit}: this is how your device would change the model.`,
  waiting: "Waiting for a unit",
  /** Why there is none now. */
  idle: {
    nothing:
      "All that is to be done is with other devices, or waits for one in another network. Yours gets a unit as soon as there is one.",
    quota: "Your device did as many units as it may do today. It goes on tomorrow.",
    reliable:
      "The last units of an epoch go to devices that were on time before. Yours gets one if they are not.",
    bound: "Your device is far ahead. It waits until slower ones have caught up.",
    released:
      "Units were given back from here. The wait for the next grows each time, and ends by itself; results shorten it.",
    paused: "The task’s owner paused it. Your device goes on by itself when the task does.",
    over: "All epochs are done.",
  },
  soon: "It comes in a moment.",
  quotaDone: "Enough for today",
  ready: "Your unit is ready and goes out as soon as the server is back.",
  counting: (units: number) => `${counted(units, "unit")} of yours ${units === 1 ? "counts" : "count"}.`,
  /** What becomes of a unit. */
  doing: {
    waiting: "is next",
    training: "is trained",
    sending: "is sent",
    checked: "is looked at",
    compared: "waits until another device did it, too",
    blended: "is part of the model",
    counted: "counts: it agrees with what others sent",
    rejected: "does not count",
    dropped: "is not needed any more",
    released: "was given back",
  },
  step: (step: number, steps: number) => `is trained: step ${number(step)} of ${number(steps)}`,
  newcomer:
    "Your device is new here. What it sends counts when another device, with the same examples, comes to the same.",
  newcomerSoFar: (checked: number) => `${agreeing(checked)}. After some more they count at once.`,
  trusted: (checked: number) =>
    `${agreeing(checked)}: your device is trusted, and its results count at once. Now and then one is compared all the same.`,
  sampled: (checked: number) =>
    `${checked === 0 ? "" : `${agreeing(checked)}. `}What your device sends counts as it comes. Now and then something is first compared with what others make of the same examples.`,
  uncompared: "What your device sends counts as it comes: nobody does the same examples again to compare.",
  quota: (quota: number) => `It may do ${counted(quota, "more unit", "more units")} today.`,
  epoch: (epoch: number, epochs: number) => `Epoch ${number(epoch)} of ${number(epochs)}`,
  done: (done: number, units: number) =>
    `${number(done)} of ${counted(units, "unit")} ${done === 1 ? "is" : "are"} in the model`,
  atWork: (leased: number) => `${number(leased)} ${leased === 1 ? "is" : "are"} with devices`,
  compared: (compared: number) => `${number(compared)} ${compared === 1 ? "waits" : "wait"} to be compared`,
  people: (browsers: number, peers: number) =>
    `${counted(browsers, "browser")} and ${counted(peers, "peer")} take part.`,
  measured: (results: number, accuracy: number | null, loss: number) =>
    `With ${counted(results, "result")} in it, the model ${accuracy === null ? "has" : `is right with ${percent(accuracy)} of the examples that nobody trains on;`} ${accuracy === null ? "a loss of" : "its loss is"} ${figures.loss(loss)}.`,
};
