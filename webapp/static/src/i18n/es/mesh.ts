import type { Catalogue } from "..";
import { counted, either, number, percent } from "../formatting";
import { figures } from "./figures";

const others = (count: number) => counted(count, "participante más", "participantes más");
const directLinks = (count: number) =>
  `${either(count, "queda", "quedan")} ${counted(count, "enlace directo", "enlaces directos")} con los demás`;

export const mesh: Catalogue["mesh"] = {
  lookingForServer: "Buscando el servidor, que presenta a los demás.",
  trained: "Entrenado: esperando un grupo",
  serverSays: (round) => `${round}. El servidor dirá pronto con quién promedias.`,
  leaderSays: (round) => `${round}. El nodo que la dirige dirá pronto con quién promedias.`,
  averagedIn: (rounds) => `Tu dispositivo promedió en ${counted(rounds, "ronda")}.`,
  away: "Sin servidor: se intenta de nuevo",
  awayIn: (seconds) => `Sin servidor: se intenta de nuevo en ${seconds}`,
  awayNow: "Sin servidor: se intenta de nuevo ahora",
  goesOn: "No se pierde nada: esto sigue solo.",
  groupGoesOn: (links) => `Tu grupo sigue sin él: ${directLinks(links)}.`,
  trainsOn: "Mientras tanto, tu dispositivo sigue entrenando.",
  peersGoOn: (count) =>
    `Los nodos siguen sin él en cuanto esté aquí más de la mitad de los de la última ronda: ${either(count, "está", "están")} ${others(count)}.`,
  linksStand: (links) => `No se pierde nada: ${directLinks(links)}, y esto sigue solo.`,
  yourDevice: "Tu dispositivo",
  participant: (name) => `Participante ${name}`,
  measured: (who, round, loss, examples) =>
    `${who} midió los pesos de la ronda ${number(round)}: pérdida ${figures.loss(loss)} en ${counted(examples, "ejemplo")}.`,
  withoutYou: (round) => `La ronda ${number(round)} está abierta sin ti.`,
  noResult: (reason) => `El último grupo no dio resultado: ${reason}`,
  sameWeights: (round, count) =>
    `Ronda ${number(round)}: tú y ${others(count)} tienen los mismos pesos nuevos.`,
  sameWeightsOf: (round, count, fraction) =>
    `Ronda ${number(round)}: tú y ${others(count)} tienen los mismos pesos nuevos, con ${percent(fraction)} de todo lo que se entrenó.`,
  withoutServer: (round) => `${round}, sin el servidor`,
  fetching: "Entrenando: descargando pesos y ejemplos",
  averaging: (count) => `Promediando con ${others(count)}`,
  deviceToDevice: "Los cambios de cada uno van de dispositivo a dispositivo; el servidor no ve ninguno.",
  sealed: (count) => `Con ${others(count)} por el servidor, cifrado: no puede leer nada.`,
  how: { webrtc: "directo", websocket: "directo", relay: "por el servidor, cifrado" },
  upTo: (speed) => `hasta ${speed}`,
  noLink: "sin enlace todavía",
  linked: (links, count) => `Enlazado con ${number(links)} de ${others(count)}.`,
  linkedThrough: (links, count, relayed) => {
    let which = `${number(relayed)} de los enlaces `;
    if (relayed === links) which = links === 1 ? "" : "todo ";
    else if (relayed === 1) which = "uno de los enlaces ";
    return `Enlazado con ${number(links)} de ${others(count)}, ${which}por el servidor, cifrado.`;
  },
  strangers: (count) =>
    `${counted(count, "participante")} ${either(count, "vino", "vinieron")} con otra identidad que antes y ${either(count, "no recibe", "no reciben")} enlace.`,
  startToSee: "Empieza para ver quién está.",
  othersLeft: "Los demás se han ido.",
  nobodyElse: "Todavía no hay nadie más.",
};
