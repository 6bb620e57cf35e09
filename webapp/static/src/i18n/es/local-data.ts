import type { Catalogue } from "..";
import { counted, either, number, percent } from "../formatting";

type LocalDataKind = Parameters<Catalogue["own"]["things"]>[0];

const THINGS: Readonly<Record<LocalDataKind, readonly [one: string, many: string]>> = {
  image: ["imagen", "imágenes"],
  table: ["fila", "filas"],
  text: ["pasaje", "pasajes"],
  array: ["ejemplo", "ejemplos"],
};

const things = (kind: LocalDataKind, count: number) => counted(count, ...THINGS[kind]);

const problems = (count: number) =>
  counted(count, "cosa no está como debería", "cosas no están como deberían");

/** `a, b y c`; of many, the first ones. */
function listed(names: readonly string[]): string {
  const shown = names.slice(0, 10);
  if (names.length > shown.length) return `${shown.join(", ")} y ${names.length - shown.length} más`;
  const last = shown.pop() ?? "";
  return shown.length > 0 ? `${shown.join(", ")} y ${last}` : last;
}

export const own: Catalogue["own"] = {
  things,
  wanted: (minimum, kind, maximum) =>
    `Esta tarea necesita de ${number(minimum)} a ${things(kind, maximum)} de cada dispositivo.`,
  byFolder: (names) =>
    `Ponlas en carpetas con los nombres ${listed(names)}, o elige abajo una clase antes de añadir archivos. Puedes añadir más, de una vez o poco a poco.`,
  table: (names) => `Elige un archivo CSV cuya primera fila nombre las columnas; necesita ${listed(names)}.`,
  textTable: (text, label) => `Elige un archivo CSV con las columnas ${text} y ${label}.`,
  texts: "Elige archivos de texto (UTF-8).",
  arrays: (names) => `Elige archivos .npz con las matrices ${listed(names)}.`,
  ready: (kind, examples, train) => `Listo: ${things(kind, examples)}, ${number(train)} para aprender.`,
  readyHeld: (kind, examples, train, held) =>
    `Listo: ${things(kind, examples)}, ${number(train)} para aprender y ${number(held)} aparte para medir.`,
  problems,
  problemsSuchAs: (count) => `${problems(count)}, por ejemplo`,
  notFetched: "No se puede descargar lo que necesita esta tarea. Recarga la página para intentarlo de nuevo.",
  notDropped: "No se puede leer lo que soltaste. Elige los archivos con los botones.",
  reading: (done, total) => `Leyendo: ${number(done)} de ${number(total)} archivos`,
  nothing: "Todavía no has elegido nada.",
  kept: (files) =>
    `${either(files, "Se guarda", "Se guardan")} ${counted(files, "archivo")} en este navegador.`,
  noRoom:
    "En este navegador no hay sitio para estos archivos, así que no se guarda ninguno. Se puede entrenar con ellos igualmente.",
  forgotten: "Los archivos se borraron de este navegador. Donde los tenías, siguen estando.",
  asSeen: (width, height) => `Como las ve el modelo, de ${width} por ${height} píxeles:`,
  emptyCell: "vacío",
  firstRows: "Primeras filas",
  rowsBecome: "Las primeras filas; debajo de cada celda, los números que recibe el modelo:",
  unused: (names) => `No se usan: ${listed(names)}.`,
  unknownToken: (id) => `${id}: no está en el vocabulario de la tarea`,
  tokens: (count) => `${number(count)} tokens. Los primeros:`,
  tokensUnknown: (count, unknown) =>
    `${number(count)} tokens. ${percent(unknown)} de ellos no están en el vocabulario de la tarea. Los primeros:`,
};
