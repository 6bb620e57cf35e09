import type { Catalogue } from "..";

export const trial: Catalogue["trial"] = {
  looking: "Mirándolo …",
  reading: "Leyéndolo …",
  writing: "Escribiendo …",
  written: "Escrito.",
  unreachable: "No se puede traer lo que esta tarea necesita. Prueba otra vez dentro de un momento.",
  before: "Antes de tu actualización",
  after: "Con tu actualización",
  both: "Responde la última versión que entrenó tu dispositivo, sin tu actualización y con ella.",
  sure: (label, chance) => `Dice ${label}: seguro al ${chance}.`,
  sures: (was, chance, is, then) =>
    `Antes de tu actualización decía ${was}, seguro al ${chance}; con ella, ${is}, seguro al ${then}.`,
  numbers: (figures) => `Dice ${figures}.`,
  bothNumbers: (was, is) => `Antes de tu actualización decía ${was}; con ella, ${is}.`,
  leftOut: (letters) => `Se ha dejado fuera, porque el modelo no lo conoce: ${letters}`,
  noNumber: (word) => `«${word}» no es un número; escríbelo como 12 o 3.5.`,
};
