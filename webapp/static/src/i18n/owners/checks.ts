/** Lines of a draft's checklist. */
export const STEP_NAMES = {
  model: "Model",
  data: "Data",
  preprocess: "Preprocessing",
  plan: "Training plan",
  privacy: "Privacy and security",
  about: "Description and licence",
  trial: "Dry run",
  review: "Review and launch",
};

export const say = {
  states: { done: "Done", todo: "To do", running: "Under way", failed: "Needs you" },
  steps: STEP_NAMES,
  go: (step: string) => `Go to “${step}”`,
};
