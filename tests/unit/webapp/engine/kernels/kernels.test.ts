/** The compiled WASM kernels against loops in JavaScript; the browser suite holds them to TensorFlow. */

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";

type Kernels = Record<string, (...values: number[]) => void>;
interface Compiler {
  compileKernels(name: string): Promise<string>;
}

/** Bytes where nothing lies: kernels must write their result and their scratch memory only. */
const GUARD = 64;
let kernels: Kernels;
let memory: WebAssembly.Memory;
let end = 0;

beforeAll(async () => {
  const { compileKernels } = (await import(`${process.cwd()}/vite.kernels.ts`)) as Compiler;
  memory = new WebAssembly.Memory({ initial: 256 });
  const module = await WebAssembly.compile(readFileSync(await compileKernels("alone")));
  kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as Kernels;
});

function start(): void {
  end = 1024;
}

/** Places numbers in memory, or that many times NaN; returns the address. */
function place(values: readonly number[] | number): number {
  const length = typeof values === "number" ? values : values.length;
  const view = new Float32Array(memory.buffer, end, length + GUARD / 4);
  view.fill(Number.NaN);
  if (typeof values !== "number") view.set(values);
  const address = end;
  end += Math.ceil((length * 4 + GUARD) / 16) * 16;
  return address;
}

function placeIntegers(values: readonly number[]): number {
  const address = place(values.length);
  new Int32Array(memory.buffer, address, values.length).set(values);
  return address;
}

/** Reads a result and what lies behind it. */
function read(address: number, length: number): number[] {
  const view = new Float32Array(memory.buffer, address, length + 4);
  expect(Array.from(view.subarray(length))).toEqual([NaN, NaN, NaN, NaN]);
  return Array.from(view.subarray(0, length));
}

function expectClose(found: readonly number[], wanted: readonly number[]): void {
  expect(found.length).toBe(wanted.length);
  found.forEach((value, i) => {
    const right = wanted[i] as number;
    expect(Math.abs(value - right)).toBeLessThanOrEqual(1e-5 * (1 + Math.abs(right)));
  });
}

/** Numbers that look random. */
function noise(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => Math.fround(Math.sin(i * 12.9898 + seed * 78.233)));
}

const size = (max: number) => fc.integer({ min: 1, max });

test("a product of matrices equals the sum of its products, whatever is transposed", () => {
  const shapes = fc.tuple(size(15), size(20), size(300), fc.boolean(), fc.boolean(), fc.boolean());
  fc.assert(
    fc.property(shapes, ([m, n, depth, turnA, turnB, biased]) => {
      start();
      const [a, b, bias] = [noise(m * depth, 1), noise(depth * n, 2), noise(n, 3)];
      const [rowA, stepA] = turnA ? [1, m] : [depth, 1];
      const [rowB, columnB] = turnB ? [1, depth] : [n, 1];
      const [left, right, out] = [place(a), place(b), place(m * n)];
      const biases = biased ? place(bias) : 0;
      const bytes = (...steps: number[]) => steps.map((step) => 4 * step);
      const scratch = place(64 + 256 * 8);
      kernels.multiplyBatch?.(
        ...[left, ...bytes(rowA, stepA), 0, right, ...bytes(rowB, columnB), 0, out],
        ...[m, n, depth, biases, Number.NEGATIVE_INFINITY, scratch, 0, m],
      );
      const wanted = Array.from({ length: m * n }, (_, i) => {
        const [row, column] = [Math.floor(i / n), i % n];
        let sum = biased ? (bias[column] as number) : 0;
        for (let k = 0; k < depth; k++) {
          sum += (a[row * rowA + k * stepA] as number) * (b[k * rowB + column * columnB] as number);
        }
        return sum;
      });
      expectClose(read(out, m * n), wanted);
    }),
    { numRuns: 60 },
  );
});

interface Shape {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly filters: number;
  readonly kernel: number;
  readonly stride: number;
  readonly before: number;
}

const shapes = fc
  .record({
    height: size(9),
    width: size(9),
    channels: size(5),
    filters: size(10),
    kernel: size(4),
    stride: size(3),
    before: fc.integer({ min: 0, max: 2 }),
  })
  .filter(({ height, width, kernel }) => Math.min(height, width) >= kernel);

function outputOf({ height, width, kernel, stride }: Shape): [number, number] {
  return [Math.floor((height - kernel) / stride) + 1, Math.floor((width - kernel) / stride) + 1];
}

/** Visits each product of a convolution: indices of x, filter and output. */
function visit(shape: Shape, images: number, each: (x: number, filter: number, out: number) => void): void {
  const { height, width, channels, filters, kernel, stride, before } = shape;
  const [outHeight, outWidth] = outputOf(shape);
  for (let n = 0; n < images; n++)
    for (let i = 0; i < outHeight; i++)
      for (let j = 0; j < outWidth; j++)
        for (let h = 0; h < kernel; h++)
          for (let w = 0; w < kernel; w++) {
            const [y, x] = [i * stride + h - before, j * stride + w - before];
            if (y < 0 || x < 0 || y >= height || x >= width) continue;
            for (let c = 0; c < channels; c++)
              for (let k = 0; k < filters; k++) {
                const at = ((n * height + y) * width + x) * channels + c;
                const tap = ((h * kernel + w) * channels + c) * filters + k;
                each(at, tap, ((n * outHeight + i) * outWidth + j) * filters + k);
              }
          }
}

function geometryOf(shape: Shape): number {
  const { height, width, channels, filters, kernel, stride, before } = shape;
  const out = [...outputOf(shape), filters];
  return placeIntegers([height, width, channels, ...out, kernel, kernel, stride, stride, before, before]);
}

test("a convolution and its filter's gradient equal the sums over all windows, on any share of the work", () => {
  fc.assert(
    fc.property(shapes, fc.double({ min: 0, max: 1, noNaN: true }), (shape, share) => {
      start();
      const images = 2;
      const [outHeight, outWidth] = outputOf(shape);
      const taps = shape.kernel ** 2 * shape.channels;
      const x = noise(images * shape.height * shape.width * shape.channels, 4);
      const filter = noise(taps * shape.filters, 5);
      const dy = noise(images * outHeight * outWidth * shape.filters, 6);
      const [y, dw] = [dy.map(() => 0), filter.map(() => 0)];
      visit(shape, images, (at, tap, out) => {
        y[out] = (y[out] as number) + (x[at] as number) * (filter[tap] as number);
        dw[tap] = (dw[tap] as number) + (x[at] as number) * (dy[out] as number);
      });
      const geometry = geometryOf(shape);
      const [inputs, weights, gradient] = [place(x), place(filter), place(dy)];
      const [result, change, scratch] = [place(y.length), place(dw.length), place(40_000)];
      for (const [first, last] of [
        [0, 1],
        [1, images],
      ] as const) {
        const rest = [geometry, 0, Number.NEGATIVE_INFINITY, 0, scratch, first, last];
        kernels.convolve?.(inputs, weights, result, ...rest);
      }
      const cut = Math.floor(share * taps);
      kernels.filterGradient?.(inputs, gradient, change, geometry, images, scratch, 0, cut);
      kernels.filterGradient?.(inputs, gradient, change, geometry, images, scratch, cut, taps);
      expectClose(read(result, y.length), y);
      expectClose(read(change, dw.length), dw);
    }),
    { numRuns: 60 },
  );
});

test("functions of one number are right to float32's last digits, over their whole range", () => {
  const functions: Record<number, (x: number) => number> = {
    6: Math.exp,
    7: Math.tanh,
    8: (x) => 1 / (1 + Math.exp(-x)),
  };
  const values = Array.from({ length: 4003 }, (_, i) => Math.fround((i - 2001) / 23));
  for (const [op, wanted] of Object.entries(functions)) {
    start();
    const [x, out] = [place(values), place(values.length)];
    kernels.map?.(Number(op), x, out, 0, values.length);
    read(out, values.length).forEach((found, i) => {
      const right = wanted(values[i] as number);
      expect(Math.abs(found - right)).toBeLessThanOrEqual(4e-7 * Math.abs(right) + 1e-38);
    });
  }
});

test("not a number stays not a number", () => {
  for (const op of [6, 7, 8, 9, 10, 11]) {
    start();
    const [x, out] = [place([NaN, NaN, NaN, NaN, NaN]), place(5)];
    kernels.map?.(op, x, out, 0, 5);
    expect(read(out, 5)).toEqual([NaN, NaN, NaN, NaN, NaN]);
  }
});
