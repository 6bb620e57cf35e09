import { counted, number } from "../formatting";
import { figures } from "./figures";

/** What the control card says on every training page. */
export const card = {
  start: "Start training",
  stop: "Stop",
  ready: "Ready when you are",
  press: "Press the button and your device joins the next round.",
  pressWith: (examples: number) =>
    `Press the button and your device joins the next round with ${counted(examples, "example")} of yours.`,
  chooseFirst: "Choose your examples first",
  learnsFromYours: "This task learns from what you have, on your device.",
  stopped: "Stopped",
  startAgain: "Start again whenever you like.",
  thanks: "Stopped. Thank you!",
  connecting: "Connecting",
  lookingForServer: "Looking for the server.",
  gettingReady: "Getting ready",
  fetchingModel: "Fetching the model and timing one step on this device.",
  again: (problem: string) => `${problem} Trying again.`,
  needed: (count: number) => `Waiting for ${counted(count, "more participant", "more participants")}`,
  sendTheAddress:
    "Training begins when enough are here. Send the address to a friend, or open it on another device.",
  nextRound: "Waiting for the next round",
  inFromNext: "You are in from the next round on.",
  opensSoon: "It opens in a moment.",
  paused: "Paused by the task’s owner",
  pausedStay:
    "Your device waits, and goes on by itself when the training does. You may also leave and come back.",
  measuring: "Measuring the new version",
  measuringHere: "Your device tests it on examples that nobody trains on.",
  trained: "The model is trained",
  allDone: "All rounds are done.",
  allDoneThanks: "All rounds are done. Thank you for your part in it!",
  training: "Training",
  round: (round: number) => `Round ${number(round)}`,
  noRound: "Round",
  step: (step: number, steps: number) => `Training: step ${number(step)} of ${number(steps)}`,
  loss: (loss: number) => `Loss ${figures.loss(loss)}.`,
  /** `round` begins a sentence elsewhere. */
  spokenStep: (round: string) => `Training, ${round.toLowerCase()}`,
  goesOnWith: (backend: string) => `The round goes on with ${backend}.`,
  goesOnSliced: (backend: string) => `The round goes on with ${backend}, in smaller pieces.`,
  otherVersion: "The server speaks another version of this protocol. Reload the page and start again.",
  screenStays: "The screen stays on while you take part. You may do other things in other tabs.",
  screenMayDarken:
    "This browser may let the screen go dark, and training with it: plug the device in and keep this page in view.",
};
