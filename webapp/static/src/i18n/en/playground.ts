/** "Try the model". */
export const trial = {
  looking: "Looking at it …",
  reading: "Reading it …",
  writing: "Writing …",
  written: "Written.",
  unreachable: "What this task needs cannot be fetched. Try again in a moment.",
  before: "Before your update",
  after: "With your update",
  both: "The version that your device trained last answers, without your update and with it.",
  /** The likeliest answer and its chance. */
  sure: (label: string, chance: string) => `It says ${label}: ${chance} sure.`,
  sures: (was: string, chance: string, is: string, then: string) =>
    `Before your update it said ${was}, ${chance} sure; with it, ${is}, ${then} sure.`,
  /** Names of numbers and these. */
  numbers: (figures: string) => `It says ${figures}.`,
  bothNumbers: (was: string, is: string) => `Before your update it said ${was}; with it, ${is}.`,
  leftOut: (letters: string) => `Left out, since the model does not know it: ${letters}`,
  noNumber: (word: string) => `‘${word}’ is no number; write it like 12 or 3.5.`,
};
