import type { Catalogue } from "..";
import { counted } from "../formatting";

export const people: Catalogue["people"] = {
  you: "Tú",
  browser: "Navegador",
  peer: "Nodo",
  doing: {
    loading: "preparando",
    ready: "listo",
    training: "entrenando",
    evaluating: "midiendo",
    reported: "actualización entregada",
    refused: "actualización rechazada",
  },
  updates: (count) => counted(count, "actualización", "actualizaciones"),
};
