import type { Catalogue } from "..";

export const curves: Catalogue["curves"] = {
  step: "Paso",
  trend: "Tendencia",
  eachStep: "Cada paso",
  version: "Versión",
  accuracy: "Aciertos",
  loss: "Pérdida",
  leftBehind: "Dejado atrás al volver a una versión anterior",
  accuracyHere: "Aciertos en tu dispositivo",
  lossHere: "Pérdida en tu dispositivo",
};
