/** The build's list of the files that a training worker reaches. */

import { expect, test } from "vitest";

interface Build {
  exactProgram(
    first: string,
    all: readonly string[],
    read: (name: string) => Uint8Array,
  ): { program: string; files: Readonly<Record<string, string>> };
}

const FILES: Readonly<Record<string, string>> = {
  "main-00000000.js": 'import("./wasm-11111111.js"); fetch("/static/dist/assets/kernels-22222222.wasm")',
  "wasm-11111111.js": 'import "./main-00000000.js";',
  "kernels-22222222.wasm": "page-33333333.js is only bytes here",
  "page-33333333.js": 'new Worker("main-00000000.js")',
};

async function programOf(files: Readonly<Record<string, string>>) {
  const { exactProgram } = (await import(`${process.cwd()}/vite.exact.ts`)) as Build;
  const [first = "", ...others] = Object.keys(files);
  return exactProgram(first, [first, ...others], (name) => new TextEncoder().encode(files[name]));
}

test("it has what the worker reaches, and nothing of the page", async () => {
  const { files } = await programOf(FILES);
  expect(Object.keys(files)).toEqual(["kernels-22222222.wasm", "main-00000000.js", "wasm-11111111.js"]);
});

test("its hash depends on every byte", async () => {
  const { program } = await programOf(FILES);
  expect((await programOf({ ...FILES, "page-33333333.js": "other" })).program).toBe(program);
  expect((await programOf({ ...FILES, "kernels-22222222.wasm": "other" })).program).not.toBe(program);
});
