import type { Catalogue } from "..";
import { counted, decimal, number } from "../formatting";

export const masked: Catalogue["masked"] = {
  nothing: (reason) => `Nada tuyo entra en esta ronda. ${reason}`,
  without: "Esta ronda sigue sin ti.",
  exchanging: (members) =>
    `Intercambiando claves con ${members > 0 ? counted(members - 1, "participante más", "participantes más") : "los demás"}, para que nadie vea tu actualización por separado.`,
  adding: (members) =>
    `Enmascarada entre ${number(members)}: el servidor lee ahora la suma de todas. La tuya sigue sin verse.`,
  among: (members) =>
    `Enmascarada entre ${number(members)}: de ti solo, el servidor recibe números que parecen al azar. Puede leer la suma de todas, y nada menos.`,
  serverSays:
    "Quiénes son los demás lo dice el servidor. Si se los inventara, podría leer tu actualización: participa si confías hasta ese punto en quien lo administra.",
  metNone:
    "Te encuentras con todos los demás por primera vez: que están ahí, solo lo dice el servidor. A partir de ahora los reconoces.",
  metAll: "Ya conocías a todos los demás, y son quienes eran.",
  metSome: (met, others) =>
    `Ya conocías a ${number(met)} de los otros ${number(others)}, y son quienes eran. De los demás solo tienes la palabra del servidor.`,
  openBars:
    "Esta tarea suma las actualizaciones a la vista. Para participar, deja vacío este campo o elige otra tarea.",
  open: "Esta tarea suma las actualizaciones a la vista, así que deja vacío este campo.",
  tooMany: (least, asked) =>
    `Esta tarea enmascara entre ${number(least)} como mínimo y no puede prometer ${number(asked)}. Para participar, pide ${number(least)} o menos, o elige otra tarea.`,
  empty: (least) => `Vacío significa lo que pide la tarea, que es ${number(least)}.`,
  leaves: "Solo participas en rondas enmascaradas, y dejas una si se queda con menos.",
  noise: {
    none: "En esta tarea tu dispositivo no añade ruido.",
    offered: (noise) =>
      `En esta tarea tu propio dispositivo añade un ruido de al menos ${decimal(noise)}, donde 1 es la longitud que puede tener una actualización.`,
    bars: "Para participar, pide menos o elige otra tarea.",
  },
};
