import { counted, number } from "../formatting";

/** What a device does in a round that the server leads. */
export const round = {
  sending: "Sending your update",
  sendingWhole: "This is how your device would change the model.",
  sendingMasked: (members: number) =>
    `Masked among ${number(members)}: the server can read the sum of all, and nothing less.`,
  sendingPart: (percent: number) => `${percent}\u202f% of the steps in time: they count as much as they are.`,
  counting: (updates: number) =>
    `${counted(updates, "update")} of yours ${updates === 1 ? "is" : "are"} part of the model.`,
  offline: "Offline: trying again",
  offlineIn: (seconds: string) => `Offline: trying again in ${seconds}`,
  offlineNow: "Offline: trying again now",
  unreachable: "The server cannot be reached. Nothing is lost: this goes on by itself.",
  updateReady: "Your update is ready and goes out as soon as the server is back.",
  trainsOn: (step: number, steps: number) =>
    `Your device trains on meanwhile: step ${number(step)} of ${number(steps)}.`,
  together: "Putting the updates together",
  versionOf: (round: number) => `A new version of the model comes out of round ${number(round)}.`,
  /** `left` is what `atMost` says, or nothing. */
  measured: (reported: number, cohort: number, left: string) =>
    `${number(reported)} of ${counted(cohort, "participant")} measured it so far${left}.`,
  atMost: (seconds: string) => `, at most ${seconds}`,
  updatesIn: (reported: number, cohort: number) =>
    `${number(reported)} of ${counted(cohort, "update")} in so far`,
  counts: "Your update counts",
  countsWaiting: (others: number, left: string) =>
    `Your update counts: waiting for ${counted(others, "other")}${left}`,
  stay: "Stay until it ends: the masks come off the sum with everybody’s help.",
  without: (round: number, done: string, left: string) =>
    `Round ${number(round)} is open without you: ${done}${left}.`,
  goesOnWithout: "This round goes on without you",
  masking: "Masking your update",
  waitsForKeys: "It waits for the keys of the others.",
  makesMasks: "Its masks are in the making.",
  fetching: "Training: fetching the examples",
};
