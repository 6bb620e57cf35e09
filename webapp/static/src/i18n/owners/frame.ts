/** What stands around each step of a draft. */
export const say = {
  saving: "Saving",
  saved: "Saved",
  savedBut: (what: string) => `Saved. ${what}`,
  notSaved: (why: string) => `Not saved: ${why}`,
  later: "The server does not answer. What you wrote is kept here and saved as soon as it does.",
  states: {
    done: "done",
    todo: "to do",
    running: "under way",
    failed: "needs you",
    free: "nothing has to be done",
  },
  forget: (title: string) => `Delete the draft “${title}” with its files? This cannot be taken back.`,
  lost: "The connection is lost; this goes on by itself once it is back.",
};
