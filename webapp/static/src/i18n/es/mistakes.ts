import type { Catalogue } from "..";
import { counted, number, percent } from "../formatting";

export const mistakes: Catalogue["mistakes"] = {
  about: {
    "own-aside": "Son tuyos y están aparte: tu dispositivo no entrena con ellos.",
    own: "Son tuyos y tu dispositivo entrena con ellos: con otros se equivocará más veces.",
    aside: "Nadie entrena con ellos.",
    dealt: "Tu dispositivo entrenó con ellos hace poco: con otros se equivocará más veces.",
  },
  right: (version, right, examples) =>
    `La versión ${number(version)} acierta ${number(right)} de ${counted(examples, "ejemplo")}.`,
  share: (version, share, examples) =>
    `La versión ${number(version)} acierta el ${percent(share)} de las veces en ${counted(examples, "ejemplo")}.`,
  matrix: "Qué toma por qué: una fila es lo que un ejemplo es; una columna, lo que dice el modelo.",
  often: "Qué toma por qué más a menudo.",
  truth: "Es",
  guess: "Tomado por",
  times: "Cuántas veces",
  cell: (truth, guess, count) => `${number(count)} de ${truth}, tomados por ${guess}`,
  taken: (truth, guess, chance) => `${truth}, tomado por ${guess} (seguro al ${percent(chance)})`,
  next: (truth, guess, chance) =>
    `Después viene «${truth}»; el modelo dice «${guess}» (seguro al ${percent(chance)})`,
};
