/** The look over everything, and the launch. */
import { STEP_NAMES } from "./checks";

export const say = {
  steps: STEP_NAMES,
  nothing: "Nothing yet.",
  line: (number: number) => `Line ${number}`,
  silent: "The server does not answer; try again in a moment.",
  inTest: "In a private test",
  isLive: "Live",
  testing: "The private test is on. Send this invitation to those who should try it: they need no account.",
  live: "The task is live. Only those with an invitation see it: send this one.",
  invitation: "Made at the launch",
  draft: (title: string, name: string) => `Draft: ${title} (${name})`,
  task: (name: string) => `Task: ${name}`,
  differences: (count: number) =>
    count === 0 ? "Nothing differs." : count === 1 ? "One thing differs." : `${count} things differ.`,
};
