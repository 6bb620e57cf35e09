import { _ } from "./gettext";

/** Lines of a draft's checklist. */
export const STEP_NAMES = {
  model: _("Model"),
  data: _("Data"),
  preprocess: _("Preprocessing"),
  plan: _("Training plan"),
  privacy: _("Privacy and security"),
  about: _("Description and licence"),
  trial: _("Dry run"),
  review: _("Review and launch"),
};

export const say = {
  states: { done: _("Done"), todo: _("To do"), running: _("Under way"), failed: _("Needs you") },
  steps: STEP_NAMES,
  notForTest: _("A private test does not need it."),
  go: (step: string) => _("Go to “%(step)s”", { step }),
};
