import type { Catalogue } from "..";
import { number, tenths } from "../formatting";

function size(bytes: number): string {
  if (bytes < 1e6) return `${tenths(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${tenths(bytes / 1e6)} MB` : `${tenths(bytes / 1e9)} GB`;
}

export const files: Catalogue["files"] = {
  away: "El servidor no responde. Prueba otra vez en un minuto.",
  card: "La ficha del modelo",
  made: (bytes, sha256) => `${size(bytes)}; su SHA-256: ${sha256.slice(0, 12)}…`,
  making: (seconds) => `se está haciendo desde hace ${number(seconds)} s`,
  menu: "Archivos",
  of: (version) => `Archivos de la versión ${number(version)}`,
  ready: (bytes) => `listo: ${size(bytes)}`,
  unmade: "se hace cuando lo pides",
  whole: (sha256) => `SHA-256 completo: ${sha256}`,
};
