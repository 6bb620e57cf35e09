import { _ } from "./gettext";

/** What stands at curves. */
export const curves = {
  step: _("Step"),
  trend: _("Trend"),
  eachStep: _("Each step"),
  version: _("Version"),
  accuracy: _("Accuracy"),
  loss: _("Loss"),
  leftBehind: _("Left behind by a roll-back"),
  accuracyHere: _("Accuracy on your device"),
  lossHere: _("Loss on your device"),
};
