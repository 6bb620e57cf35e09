import type { Catalogue } from "..";
import { counted, number } from "../formatting";

export const url: Catalogue["url"] = {
  fetching: (here, all) => `Trayendo los ejemplos: ${here} de ${all}`,
  reading: "Los archivos ya están aquí. Leyéndolos.",
  here: (train, held) =>
    `${counted(train + held, "ejemplo está", "ejemplos están")} aquí: ${number(train)} para aprender, ${number(held)} aparte para medir.`,
  cancelled: "No se trajeron. Pulsa Empezar a entrenar para comenzar de nuevo.",
  closed: (host) =>
    `Esta página no puede leer de ${host}. O no responde, o reenvía a otra dirección, o no deja que páginas de otros sitios lean sus archivos (CORS). Prueba más tarde; si sigue así, avisa a quien creó la tarea.`,
  missing: (file, host, status) =>
    `${host} no tiene ${file} para todos: responde ${status}. Avisa a quien creó la tarea.`,
  otherFile: (file, host) =>
    `${file} en ${host} es otro archivo que el que se quiso usar: su SHA-256 es distinto. No se usó. Avisa a quien creó la tarea.`,
  tooLong: (file, host) =>
    `${file} en ${host} es más largo de lo que dice la tarea, y no se siguió leyendo. Avisa a quien creó la tarea.`,
  tooShort: (file, host) =>
    `${file} de ${host} terminó antes de tiempo. Prueba otra vez; si vuelve a pasar, avisa a quien creó la tarea.`,
  slow: (host) => `Durante un minuto no llegó nada de ${host}. Prueba otra vez con mejor conexión.`,
  local: (host) =>
    `La tarea nombra ${host}, una dirección de una red local. De ahí no se trae nada. Avisa a quien creó la tarea.`,
  broken: (where, text) =>
    `No todos los ejemplos se pueden leer en este navegador: ${where}: ${text} Otro navegador, o un nodo, quizá pueda.`,
  otherCount: (train, held, wantedTrain, wantedHeld) =>
    `Los archivos tienen ${number(train)} ejemplos para aprender y ${number(held)} aparte; la tarea dice ${number(wantedTrain)} y ${number(wantedHeld)}. Avisa a quien creó la tarea.`,
};
