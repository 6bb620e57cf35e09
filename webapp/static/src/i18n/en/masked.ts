import { counted, decimal, number } from "../formatting";

/** Who sees an update, and what the volunteer may ask for. */
export const masked = {
  nothing: (reason: string) => `Nothing of you goes into this round. ${reason}`,
  without: "This round goes on without you.",
  /** `members` counts this device as well; 0 before they are known. */
  exchanging: (members: number) =>
    `Exchanging keys with ${members > 0 ? counted(members - 1, "other participant") : "the others"}, so that nobody sees your update alone.`,
  adding: (members: number) =>
    `Masked among ${number(members)}: the server reads the sum of all now. Your own update stays unseen.`,
  among: (members: number) =>
    `Masked among ${number(members)}: of you alone the server gets numbers that look random. It can read the sum of all, and nothing less.`,
  serverSays:
    "The server says who the others are. If it made them up, it could read your update: take part if you trust who runs it that far.",
  metNone:
    "You meet all the others for the first time: that they are there, only the server says. From now on you know them again.",
  metAll: "You have met all the others before, and they are who they were.",
  metSome: (met: number, others: number) =>
    `You have met ${number(met)} of the ${number(others)} others before, and they are who they were. For the rest there is only the server’s word.`,
  openBars: "This task adds updates up in the open. To join it empty this field, or choose another task.",
  open: "This task adds updates up in the open, so leave it empty here.",
  tooMany: (least: number, asked: number) =>
    `This task masks among ${number(least)} at least and cannot promise ${number(asked)}. To join it ask for ${number(least)} or fewer, or choose another task.`,
  empty: (least: number) => `Empty means: what the task asks for, which is ${number(least)}.`,
  leaves: "You take part in masked rounds only, and leave one that becomes smaller than that.",
  noise: {
    none: "In this task your device adds no noise.",
    offered: (noise: number) =>
      `In this task your device itself adds noise of ${decimal(noise)} at least, where 1 is the length that an update may have.`,
    bars: "To join it ask for less, or choose another task.",
  },
};
