/** The kernels of the backend `exact` have no instruction whose result depends on the processor. */

import { readFileSync } from "node:fs";
import binaryen from "binaryen";
import { expect, test } from "vitest";

interface Compiler {
  kernelBytes(name: string): Promise<Uint8Array>;
}

async function compiled(name: string): Promise<Uint8Array> {
  const { kernelBytes } = (await import(`${process.cwd()}/vite.kernels.ts`)) as Compiler;
  return kernelBytes(name);
}

/** Relaxed instructions are the only ones of WebAssembly that may round as the processor likes. */
function relaxed(bytes: Uint8Array): string[] {
  return (
    binaryen
      .readBinary(bytes)
      .emitText()
      .match(/\w+\.relaxed_\w+/g) ?? []
  );
}

test.each(["alone", "shared"])("the kernels %s are deterministic", async (name) => {
  expect(relaxed(await compiled(name))).toEqual([]);
});

test.each(["tfjs-backend-wasm-simd", "tfjs-backend-wasm-threaded-simd"])("%s is deterministic", (name) => {
  expect(relaxed(readFileSync(`node_modules/@tensorflow/tfjs-backend-wasm/dist/${name}.wasm`))).toEqual([]);
});

test("relaxed instructions would be found", async () => {
  expect(new Set(relaxed(await compiled("alone-relaxed")))).toEqual(new Set(["f32x4.relaxed_madd"]));
});

test.each(["alone", "shared"])("two builds of the kernels %s have the same bytes", async (name) => {
  expect(Buffer.compare(await compiled(name), await compiled(name))).toBe(0);
});
