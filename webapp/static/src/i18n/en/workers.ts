/** Failures of the workers; `detail` is what the browser says of one, empty where it says nothing. */
export const workers = {
  filesUnreadable: (detail: string) => `The files cannot be read: ${detail || "the reader did not start"}.`,
  modelClosed: "The model was put away; ask it again.",
  modelNotStarted: (detail: string) => `The model could not be started: ${detail || "reload the page"}.`,
  notStarted: "The worker could not be started; reload the page.",
  trainingEnded: "The training worker was ended.",
  trainingFailed: (detail: string) => `The training worker failed: ${detail || "it could not be started"}.`,
};
