/** Fused ops on the compiled kernels have the bits of the single functions, and choices broadcast. */

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { beforeAll, expect, test, vi } from "vitest";
import {
  type Call,
  KERNEL_FORMS,
  type Term,
} from "../../../../../webapp/static/src/engine/fusion/kernel-forms";
import type {
  Program,
  ProgramOperand,
  ProgramStep,
} from "../../../../../webapp/static/src/engine/fusion/program";

interface Tensor {
  readonly shape: number[];
  readonly dtype: string;
  readonly address: number;
}
type Kernels = Record<string, (...values: number[]) => void>;
type Kernel = (call: object) => Tensor;

// The module of the machine imports compiled kernels as addresses, which only the build has.
vi.mock("../../../../../webapp/static/src/engine/wasm/simd/kernel-module", () => ({
  Machine: { address: (_: object, { address }: Tensor) => address },
}));
const { fused } = await import("../../../../../webapp/static/src/engine/wasm/simd/fused");
const { BINARY, select, UNARY } = await import(
  "../../../../../webapp/static/src/engine/wasm/simd/elementwise"
);

const WORDS = 0;
const SCRATCH = 1 << 16;
const TENSORS = 1 << 18;
const memory = new WebAssembly.Memory({ initial: 256 });
let kernels: Kernels;
let end = TENSORS;

/** Runs a kernel in as many parts as a test wants. */
const machine = {
  pieces: 1,
  reserve: () => WORDS,
  integers(values: ArrayLike<number>): number {
    new Int32Array(memory.buffer, WORDS, values.length).set(values);
    return WORDS;
  },
  run(name: string, parts: number, _work: number, values: readonly number[], scratchBytes = 0): void {
    const piece = Math.ceil(parts / this.pieces);
    for (let begin = 0; begin < parts; begin += piece) {
      const range = [...(scratchBytes > 0 ? [SCRATCH] : []), begin, Math.min(begin + piece, parts)];
      kernels[name]?.(...values, ...range);
    }
  },
};
const backend = { makeOutput: (shape: number[], dtype: string) => place(shape, dtype) };

const sizeOf = (shape: readonly number[]) => shape.reduce((product, length) => product * length, 1);

function place(shape: number[], dtype = "float32", value: (i: number) => number = () => Number.NaN): Tensor {
  const tensor = { shape, dtype, address: end };
  const Values = dtype === "bool" ? Uint8Array : Float32Array;
  const values = new Values(memory.buffer, end, sizeOf(shape));
  for (let i = 0; i < values.length; i++) values[i] = value(i);
  end += Math.ceil((sizeOf(shape) * 4 + 64) / 16) * 16;
  return tensor;
}

function bits({ address, shape }: Tensor): number[] {
  return [...new Uint32Array(memory.buffer, address, sizeOf(shape))];
}

/** The place of element `i` of a tensor of shape `outer` in one of shape `inner` that broadcasts to it. */
function sourceOf(i: number, inner: readonly number[], outer: readonly number[]): number {
  let [rest, source, stride] = [i, 0, 1];
  for (let axis = 1; axis <= outer.length; axis++) {
    const [length, own] = [outer.at(-axis) as number, inner.at(-axis) ?? 1];
    if (own > 1) source += stride * (rest % length);
    stride *= own;
    rest = Math.floor(rest / length);
  }
  return source;
}

function repeated(tensor: Tensor, shape: number[]): Tensor {
  const values = new Float32Array(memory.buffer, tensor.address, sizeOf(tensor.shape));
  return place(shape, "float32", (i) => values[sourceOf(i, tensor.shape, shape)] as number);
}

/** Computes a program one function after the other, on repeated operands. */
function oneByOne(program: Program, tensors: readonly Tensor[]): Tensor {
  const shape = [...program.shape];
  const size = sizeOf(shape);
  const compute = (term: Term): Tensor => {
    if (!("kernel" in term)) {
      if (term.from === "input") return repeated(tensors[term.index] as Tensor, shape);
      if (term.from === "constant") return place(shape, "float32", () => term.value);
      const { op, operands } = program.steps[term.index] as ProgramStep;
      return compute(KERNEL_FORMS[op]?.(...operands) as Term);
    }
    const [a, b] = term.operands.map(compute) as [Tensor, Tensor?];
    const out = place(shape);
    const names: readonly string[] = b ? BINARY : UNARY;
    const op = names.indexOf(term.kernel);
    if (b === undefined) kernels.map?.(op, a.address, out.address, 0, size);
    else {
      machine.integers([1, 1, 1, size, 0, 0, 0, 4, 0, 0, 0, 4]);
      kernels.combine?.(op, a.address, b.address, out.address, WORDS, 0, size);
    }
    return out;
  };
  return compute(program.result);
}

beforeAll(async () => {
  const { compileKernels } = (await import(`${process.cwd()}/vite.kernels.ts`)) as {
    compileKernels(name: string): Promise<string>;
  };
  const module = await WebAssembly.compile(readFileSync(await compileKernels("alone")));
  kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as Kernels;
});

const shapes = fc
  .array(fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(300)), { minLength: 1, maxLength: 3 })
  .filter((shape) => sizeOf(shape) < 2000)
  .chain((shape) => {
    const inner = fc.array(fc.boolean(), { minLength: shape.length, maxLength: shape.length });
    const one = inner.map((ones) => shape.map((length, axis) => (ones[axis] ? 1 : length)));
    return fc.record({ shape: fc.constant(shape), inputs: fc.array(one, { minLength: 1, maxLength: 4 }) });
  });

const anything: Term = { from: "constant", value: 1 };

/** Operands of an op: forms that are one function take any number. */
function arityOf(form: (...operands: Term[]) => Call): number {
  if (form.length > 0) return form.length;
  return (UNARY as readonly string[]).includes(form(anything).kernel) ? 1 : 2;
}

test("a fused op has the bits of its functions one by one, in one part or in several", () => {
  const ops = Object.entries(KERNEL_FORMS);
  const steps = fc.array(fc.tuple(fc.nat(ops.length - 1), fc.nat(), fc.nat()), {
    minLength: 0,
    maxLength: 6,
  });
  fc.assert(
    fc.property(shapes, steps, fc.integer({ min: 1, max: 4 }), ({ shape, inputs }, choices, pieces) => {
      end = TENSORS;
      machine.pieces = pieces;
      const tensors = inputs.map((inner, n) =>
        place(inner, "float32", (i) => 3 * Math.sin(i * 12.9898 + n * 78.233)),
      );
      const operand = (pick: number, done: number): ProgramOperand => {
        const among = pick % (tensors.length + 1 + done);
        if (among < tensors.length) return { from: "input", index: among };
        return among === tensors.length
          ? { from: "constant", value: 0.75 }
          : { from: "step", index: among - tensors.length - 1 };
      };
      const written = choices.map(([op, x, y], done) => {
        const [name, form] = ops[op] as (typeof ops)[number];
        const operands = [operand(x, done), operand(y, done)].slice(0, arityOf(form));
        return { op: name, operands, alpha: 0, host: false };
      });
      const result: ProgramOperand = written.length
        ? { from: "step", index: written.length - 1 }
        : { from: "input", index: 0 };
      const program: Program = {
        ...{ inputs: tensors.length, scalars: 0, steps: written },
        ...{ result, shape, dtype: "float32" },
      };
      const kernel = fused(machine as never) as unknown as Kernel;
      const found = bits(kernel({ inputs: tensors, attrs: { program, scalars: [] }, backend }));
      expect(found).toEqual(bits(oneByOne(program, tensors)));
    }),
  );
});

test("a choice equals that of repeated operands", () => {
  const original = () => {
    throw new Error("The kernel passes this on.");
  };
  fc.assert(
    fc.property(shapes, fc.integer({ min: 1, max: 4 }), ({ shape, inputs }, pieces) => {
      end = TENSORS;
      machine.pieces = pieces;
      const [c, t = shape, e = shape] = inputs as [number[], number[]?, number[]?];
      const condition = place(c, "bool", (i) => Number(i % 3 === 0));
      const [yes, no] = [place(t, "float32", (i) => i), place(e, "float32", (i) => -1 - i)];
      const kernel = select(machine as never, original) as unknown as Kernel;
      const out = kernel({ inputs: { condition, t: yes, e: no }, attrs: {}, backend });
      const values = new Float32Array(memory.buffer, out.address, sizeOf(out.shape));
      values.forEach((value, i) => {
        const chosen = sourceOf(i, c, out.shape) % 3 === 0;
        expect(value).toBe(chosen ? sourceOf(i, t, out.shape) : -1 - sourceOf(i, e, out.shape));
      });
    }),
  );
});
