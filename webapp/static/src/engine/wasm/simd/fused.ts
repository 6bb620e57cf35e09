/** Writes the program of a fused op for the compiled kernel `evaluate`, and runs it. */

import { type TensorInfo, util } from "@tensorflow/tfjs-core";
import { type Call, KERNEL_FORMS, type Term } from "../../fusion/kernel-forms";
import { hostValues, type Program, type ProgramOperand } from "../../fusion/program";
import type { Numbers } from "../../recording/values";
import type { KernelCall, WasmKernel } from "../heap";
import { AXES, BINARY, broadcastAxes, COSTLY, LANES, padAxes, UNARY } from "./elementwise";
import { Machine } from "./kernel-module";

/** As in ../../kernels/fused.ts: the numbers of functions, the words of its structures and bytes of a register. */
const [FIRST_BINARY, COPY] = [32, 64];
const [HEADER, OPERAND] = [8, 5];
const PIECE = 1024;

/** Where a value is: an operand (a tensor, or a number of the call), or the result of an instruction. */
type ValuePlace = { readonly operand: number } | { readonly instruction: number };

interface CodeStep {
  readonly op: number;
  readonly places: readonly ValuePlace[];
  /** Whether it computes a value for each element of a row, or one for all. */
  readonly whole: boolean;
}

/** A program for tensors of these shapes. */
interface Code {
  readonly shapes: readonly number[][];
  readonly words: Int32Array;
  /** The same words; the numbers of a call are the last ones. */
  readonly floats: Float32Array;
  readonly numbers: readonly ProgramOperand[];
  /** The values of the numbers if they are the same in each call. */
  readonly constants: readonly number[] | null;
  readonly parts: number;
  readonly work: number;
  readonly scratchBytes: number;
}

const keyOf = (operand: ProgramOperand) =>
  `${operand.from} ${operand.from === "constant" ? operand.value : operand.index}`;

/** Writes instructions, operands before their users. */
class Writer {
  readonly instructions: CodeStep[] = [];
  readonly numbers: ProgramOperand[] = [];
  readonly #steps = new Map<number, ValuePlace>();

  constructor(
    private readonly program: Program,
    /** By tensor, whether it has a value for each element of a row. */
    private readonly wholes: readonly boolean[],
  ) {}

  /** Writes the program; its last instruction gives the result. */
  write(rowIsLong: boolean): void {
    const place = this.#term(this.program.result);
    const last = this.instructions.at(-1);
    const isLast = "instruction" in place && place.instruction === this.instructions.length - 1;
    if (!isLast || (rowIsLong && last?.whole === false))
      this.instructions.push({ op: COPY, places: [place], whole: true });
  }

  isWhole(place: ValuePlace): boolean {
    if ("operand" in place) return this.wholes[place.operand] ?? false;
    return this.instructions[place.instruction]?.whole ?? false;
  }

  #term(term: Term): ValuePlace {
    if ("kernel" in term) return this.#call(term);
    if (term.from === "input") return { operand: term.index };
    const step = term.from === "step" ? this.program.steps[term.index] : undefined;
    if (term.from !== "step" || step === undefined || step.host) return this.#number(term);
    const written = this.#steps.get(term.index);
    if (written !== undefined) return written;
    const form = KERNEL_FORMS[step.op];
    if (form === undefined) throw new Error(`The compiled kernels cannot fuse ${step.op}.`);
    const place = this.#term(form(...step.operands));
    this.#steps.set(term.index, place);
    return place;
  }

  #number(operand: ProgramOperand): ValuePlace {
    const known = this.numbers.findIndex((number) => keyOf(number) === keyOf(operand));
    const index = known < 0 ? this.numbers.push(operand) - 1 : known;
    return { operand: this.program.inputs + index };
  }

  #call({ kernel, operands }: Call): ValuePlace {
    const places = operands.map((operand) => this.#term(operand));
    const [unary, binary] = [UNARY, BINARY].map((names) => (names as readonly string[]).indexOf(kernel));
    const op = places.length === 1 ? (unary as number) : FIRST_BINARY + (binary as number);
    const whole = places.some((place) => this.isWhole(place));
    return { instruction: this.instructions.push({ op, places, whole }) - 1 };
  }
}

/** Gives each instruction but the last a register, which is free again after its value's last use. */
function registersOf(instructions: readonly CodeStep[]): { registers: number[]; count: number } {
  const lastUse = new Map<number, number>();
  instructions.forEach(({ places }, user) => {
    for (const place of places) if ("instruction" in place) lastUse.set(place.instruction, user);
  });
  const [registers, free]: [number[], number[]] = [[], []];
  let count = 0;
  instructions.slice(0, -1).forEach(({ places }, i) => {
    registers.push(free.pop() ?? count++);
    for (const place of new Set(places.map((one) => ("instruction" in one ? one.instruction : -1)))) {
      if (lastUse.get(place) === i) free.push(registers[place] as number);
    }
  });
  return { registers, count };
}

function compile(program: Program, shapes: readonly number[][]): Code {
  const axes = padAxes(broadcastAxes(shapes, program.shape), shapes.length);
  const inner = axes[AXES - 1] as (typeof axes)[number];
  const writer = new Writer(
    program,
    inner.steps.map((step) => step !== 0),
  );
  writer.write(inner.size > 1);
  const { instructions, numbers } = writer;
  const { registers, count } = registersOf(instructions);
  const operands = shapes.length + numbers.length;
  const at = (place: ValuePlace) =>
    "operand" in place ? count + place.operand : (registers[place.instruction] as number);
  const words = Int32Array.from([
    ...[...axes.map(({ size }) => size), operands, count, instructions.length, 0],
    ...shapes.flatMap((_, i) => [0, ...axes.map(({ steps }) => 4 * (steps[i] as number))]),
    ...numbers.flatMap(() => [0, 0, 0, 0, 0]),
    ...instructions.flatMap(({ op, places, whole }, i) => {
      const [a, b = a] = places as [ValuePlace, ValuePlace?];
      const steps = [a, b].map((place) => (writer.isWhole(place) ? 4 : 0));
      const to = registers[i] ?? count + operands;
      return [op, at(a), steps[0] as number, at(b), steps[1] as number, to, Number(whole)];
    }),
    ...numbers.map(() => 0),
  ]);
  const size = util.sizeFromShape([...program.shape]);
  const rows = size / inner.size;
  const costs = instructions.map(({ op }) => (COSTLY.has(UNARY[op]) ? 8 : 1));
  return {
    shapes,
    words,
    floats: new Float32Array(words.buffer),
    numbers,
    constants: numbers.every(({ from }) => from === "constant") ? hostValues(program, [], numbers) : null,
    parts: rows === 1 ? inner.size : rows,
    work: (size / LANES) * costs.reduce((sum, cost) => sum + cost, 0),
    scratchBytes: Math.ceil((count + operands + 1) / 4) * 16 + count * PIECE,
  };
}

/** Writes the addresses of this call's operands, and its numbers; returns the program's address. */
function place(
  machine: Machine,
  code: Code,
  addresses: readonly number[],
  numbers: readonly number[],
): number {
  const { words, floats } = code;
  const base = machine.reserve(words.length);
  addresses.forEach((address, i) => {
    words[HEADER + OPERAND * i] = address;
  });
  const first = words.length - numbers.length;
  numbers.forEach((number, i) => {
    words[HEADER + OPERAND * (addresses.length + i)] = base + 4 * (first + i);
    floats[first + i] = number;
  });
  return machine.integers(words);
}

/** The fused op. Its inputs are the program's tensors; the program and its scalars are attributes. */
export function fused(machine: Machine): WasmKernel {
  const codes = new WeakMap<Program, Code>();
  return ({ backend, inputs, attrs }: KernelCall) => {
    const { program, scalars } = attrs as { program: Program; scalars: Numbers };
    const tensors = Object.values(inputs);
    let code = codes.get(program);
    if (
      code === undefined ||
      !tensors.every(({ shape }, i) => util.arraysEqual(shape, code?.shapes[i] ?? []))
    ) {
      code = compile(
        program,
        tensors.map(({ shape }) => [...shape]),
      );
      codes.set(program, code);
    }
    const out: TensorInfo = backend.makeOutput(program.shape, "float32");
    const addresses = tensors.map((tensor) => Machine.address(backend, tensor));
    const { constants, numbers } = code;
    const start = place(machine, code, addresses, constants ?? hostValues(program, scalars(), numbers));
    if (constants === null) {
      const place = start + 4 * (code.words.length - numbers.length);
      machine.rewrites(place, () => hostValues(program, scalars(), numbers));
    }
    const values = [start, Machine.address(backend, out)];
    machine.run("evaluate", code.parts, code.work, values, code.scratchBytes);
    return out;
  };
}
