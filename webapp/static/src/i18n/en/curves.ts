/** What stands at curves. */
export const curves = {
  step: "Step",
  trend: "Trend",
  eachStep: "Each step",
  version: "Version",
  accuracy: "Accuracy",
  loss: "Loss",
  leftBehind: "Left behind by a roll-back",
  accuracyHere: "Accuracy on your device",
  lossHere: "Loss on your device",
};
