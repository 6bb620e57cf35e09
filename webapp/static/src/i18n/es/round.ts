import type { Catalogue } from "..";
import { counted, either, number } from "../formatting";

export const round: Catalogue["round"] = {
  sending: "Enviando tu actualización",
  sendingWhole: "Así es como tu dispositivo cambiaría el modelo.",
  sendingMasked: (members) =>
    `Enmascarada entre ${number(members)}: el servidor puede leer la suma de todas, y nada menos.`,
  sendingPart: (percent) => `${percent}\u202f% de los pasos a tiempo: cuentan en esa medida.`,
  counting: (updates) =>
    `${counted(updates, "actualización tuya", "actualizaciones tuyas")} ${either(updates, "forma", "forman")} parte del modelo.`,
  offline: "Sin conexión: se intenta de nuevo",
  offlineIn: (seconds) => `Sin conexión: se intenta de nuevo en ${seconds}`,
  offlineNow: "Sin conexión: se intenta de nuevo ahora",
  unreachable: "No se llega al servidor. No se pierde nada: esto sigue solo.",
  updateReady: "Tu actualización está lista y sale en cuanto vuelva el servidor.",
  trainsOn: (step, steps) =>
    `Mientras tanto, tu dispositivo sigue entrenando: paso ${number(step)} de ${number(steps)}.`,
  together: "Juntando las actualizaciones",
  versionOf: (round) => `De la ronda ${number(round)} sale una nueva versión del modelo.`,
  measured: (reported, cohort, left) =>
    `${number(reported)} de ${counted(cohort, "participante")} la han medido hasta ahora${left}.`,
  atMost: (seconds) => `, como mucho ${seconds}`,
  updatesIn: (reported, cohort) =>
    `${number(reported)} de ${counted(cohort, "actualización", "actualizaciones")} hasta ahora`,
  counts: "Tu actualización cuenta",
  countsWaiting: (others, left) => `Tu actualización cuenta: esperando a ${number(others)} más${left}`,
  stay: "Quédate hasta el final: las máscaras se quitan de la suma con la ayuda de todos.",
  without: (round, done, left) => `La ronda ${number(round)} está abierta sin ti: ${done}${left}.`,
  goesOnWithout: "Esta ronda sigue sin ti",
  masking: "Enmascarando tu actualización",
  waitsForKeys: "Espera las claves de los demás.",
  makesMasks: "Se están haciendo sus máscaras.",
  fetching: "Entrenando: descargando los ejemplos",
};
