import { number, tenths } from "../formatting";

function size(bytes: number): string {
  if (bytes < 1e6) return `${tenths(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${tenths(bytes / 1e6)} MB` : `${tenths(bytes / 1e9)} GB`;
}

/** The files of a version, to take away. */
export const files = {
  away: "The server does not answer. Try again in a minute.",
  card: "The model card",
  made: (bytes: number, sha256: string) => `${size(bytes)}, SHA-256 ${sha256.slice(0, 12)}…`,
  making: (seconds: number) => `is being made, for ${number(seconds)} s so far`,
  menu: "Files",
  of: (version: number) => `Files of version ${number(version)}`,
  ready: (bytes: number) => `ready: ${size(bytes)}`,
  unmade: "made when you want it",
  whole: (sha256: string) => `The whole SHA-256: ${sha256}`,
};
