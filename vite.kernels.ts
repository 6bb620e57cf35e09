import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";
import type { Plugin } from "vite";

const ROOT = dirname(fileURLToPath(import.meta.url));
const SOURCE = "webapp/static/src/engine/kernels";

/** Memory that threads share must be declared so; relaxed SIMD multiplies and adds in one instruction. */
const VARIANTS: Readonly<Record<string, readonly string[]>> = {
  shared: ["--sharedMemory", "--maximumMemory", "65536", "--enable", "threads"],
  alone: [],
};
const RELAXED = ["--enable", "relaxed-simd"];
// The kernels import their memory and keep nothing in it: no runtime, no data.
const OPTIONS = ["--importMemory", "--noExportMemory", "--runtime", "stub", "--use", "abort=", "--noAssert"];

function folder(): string {
  const digest = createHash("sha256").update(`${asc.version} ${OPTIONS} ${JSON.stringify(VARIANTS)}`);
  for (const name of readdirSync(join(ROOT, SOURCE)).sort()) {
    digest.update(name).update(readFileSync(join(ROOT, SOURCE, name)));
  }
  return join(ROOT, ".cache", "kernels", digest.digest("hex").slice(0, 16));
}

/** Compiles the kernels `shared`, `alone`, or these `-relaxed`. The same source gives the same bytes. */
export async function kernelBytes(name: string): Promise<Uint8Array> {
  const [memory = "", relaxed] = name.split("-");
  const variant = VARIANTS[memory];
  if (variant === undefined) throw new Error(`There are no kernels ${name}.`);
  const flags = [...OPTIONS, "--optimizeLevel", "3", "--enable", "simd", ...variant];
  let bytes: Uint8Array | null = null;
  const { error, stderr } = await asc.main(
    [`${SOURCE}/index.ts`, "--outFile", "kernels.wasm", ...flags, ...(relaxed ? RELAXED : [])],
    {
      readFile: (file) => (existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), "utf8") : null),
      writeFile: (_, contents) => {
        bytes = contents as Uint8Array;
      },
      listFiles: () => [],
    },
  );
  if (error || bytes === null)
    throw new Error(`The kernels did not compile:
${stderr.toString()}`);
  return bytes;
}

/** Path of the compiled kernels, made once for each state of their source. */
export async function compileKernels(name: string): Promise<string> {
  const path = join(folder(), `${name}.wasm`);
  if (existsSync(path)) return path;
  const bytes = await kernelBytes(name);
  mkdirSync(dirname(path), { recursive: true });
  const making = `${path}.${process.pid}`;
  writeFileSync(making, bytes);
  renameSync(making, path);
  return path;
}

const PREFIX = "minga:kernels/";

/** `import address from "minga:kernels/shared?url"` compiles these kernels and emits them as a file. */
export function wasmKernels(): Plugin {
  return {
    name: "minga:wasm-kernels",
    enforce: "pre",
    async resolveId(source) {
      if (!source.startsWith(PREFIX)) return null;
      return `${await compileKernels(source.slice(PREFIX.length).replace("?url", ""))}?url`;
    },
  };
}
