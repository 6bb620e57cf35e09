import type { Catalogue } from "..";

export const workers: Catalogue["workers"] = {
  filesUnreadable: (detail) => `No se pueden leer los archivos: ${detail || "el lector no se ha iniciado"}.`,
  modelClosed: "El modelo se ha cerrado; pregúntale otra vez.",
  modelNotStarted: (detail) => `No se ha podido iniciar el modelo: ${detail || "recarga la página"}.`,
  notStarted: "No se ha podido iniciar el proceso de cálculo; recarga la página.",
  trainingEnded: "El entrenamiento en este dispositivo se ha cerrado.",
  trainingFailed: (detail) => `El entrenamiento ha fallado: ${detail || "no se ha podido iniciar"}.`,
};
