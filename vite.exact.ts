import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Plugin } from "vite";

/** A file's hash without the part of a name that the build makes of its content. */
const HASH_IN_NAME = /-[\w-]{8}(?=\.\w+$)/;

/** What a headless peer and a training page have in common: what computes. */
export interface ExactProgram {
  /** SHA-256 over the names and hashes of the files. */
  readonly program: string;
  /** SHA-256 of each file, by its name. */
  readonly files: Readonly<Record<string, string>>;
}

const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");

/** Returns the names of `all` files that `first` reaches: those that it or a file it reaches names. */
function reached(first: string, all: readonly string[], read: (name: string) => Uint8Array): string[] {
  const names = new Set([first]);
  for (const name of names) {
    if (!name.endsWith(".js")) continue;
    const text = Buffer.from(read(name)).toString("utf8");
    for (const other of all) if (text.includes(other)) names.add(other);
  }
  return [...names].sort();
}

/** Returns the program of the worker `first`, one of `all` files. */
export function exactProgram(
  first: string,
  all: readonly string[],
  read: (name: string) => Uint8Array,
): ExactProgram {
  const files = Object.fromEntries(reached(first, all, read).map((name) => [name, sha256(read(name))]));
  const lines = Object.entries(files).map(([name, hash]) => `${name.replace(HASH_IN_NAME, "")} ${hash}\n`);
  return { program: sha256(lines.sort().join("")), files };
}

/** Writes exact.json: the hashes of all files that the worker of the chunk `headless` reaches. */
export function exactFile(headless: string): Plugin {
  return {
    name: "minga:exact-program",
    writeBundle({ dir = "" }, bundle) {
      const chunk = Object.values(bundle).find((file) => file.type === "chunk" && file.name === headless);
      const workers = chunk?.type === "chunk" ? [...(chunk.viteMetadata?.importedAssets ?? [])] : [];
      const [worker] = workers;
      if (worker === undefined || workers.length > 1)
        throw new Error(`${headless} should start one worker, not ${workers.length}: adapt exactFile.`);
      const places = new Map(Object.keys(bundle).map((path) => [basename(path), join(dir, path)]));
      const read = (name: string) => readFileSync(places.get(name) ?? "");
      const program = exactProgram(basename(worker), [...places.keys()], read);
      writeFileSync(join(dir, "exact.json"), `${JSON.stringify(program, null, 1)}\n`);
    },
  };
}
