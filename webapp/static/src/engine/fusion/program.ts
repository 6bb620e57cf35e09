/** The program of a fused op, independent of any backend. */

import { ARITHMETIC } from "./arithmetic";

/** The source of a value. */
export type ProgramOperand =
  /** The fused op's input tensor of that number. */
  | { readonly from: "input"; readonly index: number }
  /** One of its scalars that JavaScript knows, such as the learning rate. */
  | { readonly from: "scalar"; readonly index: number }
  /** An earlier step. */
  | { readonly from: "step"; readonly index: number }
  | { readonly from: "constant"; readonly value: number };

export interface ProgramStep {
  readonly op: string;
  readonly operands: readonly ProgramOperand[];
  /** Slope of leaky rectifiers. */
  readonly alpha: number;
  /** JavaScript computes it: no operand depends on a tensor. */
  readonly host: boolean;
}

export interface Program {
  readonly inputs: number;
  readonly scalars: number;
  readonly steps: readonly ProgramStep[];
  readonly result: ProgramOperand;
  readonly shape: readonly number[];
  readonly dtype: "float32" | "bool";
}

/** A program in two parts: JavaScript computes `uniforms`, the device the rest. */
export interface DeviceCode {
  readonly uniforms: readonly ProgramOperand[];
  /** One line for each step. */
  readonly lines: readonly string[];
  /** Name of the result. */
  readonly result: string;
}

/** Formats a float32 as a literal; a value without a literal becomes a uniform. */
function literal(value: number): string | null {
  if (!Number.isFinite(value)) return null;
  const text = String(value);
  return `V(${/[.e]/.test(text) ? text : `${text}.0`})`;
}

/** Lines of shader code. Inputs are called `x0`, `x1`, ..., uniforms `u0`, `u1`, ... and are all of type `V`. */
export function deviceCode(program: Program, declare: "V" | "let"): DeviceCode {
  const uniforms: ProgramOperand[] = [];
  const names = new Map<string, string>();
  const uniform = (operand: ProgramOperand): string => {
    const key = `${operand.from} ${operand.from === "constant" ? operand.value : operand.index}`;
    const existing = names.get(key);
    if (existing !== undefined) return existing;
    const name = `u${uniforms.length}`;
    uniforms.push(operand);
    names.set(key, name);
    return name;
  };
  const name = (operand: ProgramOperand): string => {
    if (operand.from === "input") return `x${operand.index}`;
    if (operand.from === "constant") return literal(operand.value) ?? uniform(operand);
    if (operand.from === "scalar" || program.steps[operand.index]?.host === true) return uniform(operand);
    return `s${operand.index}`;
  };
  const lines = program.steps.flatMap(({ op, operands, alpha, host }, i) => {
    const device = ARITHMETIC[op]?.device;
    if (host || device === undefined) return [];
    return [`${declare} s${i} = ${device(operands.map(name), alpha)};`];
  });
  return { lines, result: name(program.result), uniforms };
}

/** Computes the values that are `requested`, from the scalars of this run; each operation is rounded to float32. */
export function hostValues(
  program: Program,
  scalars: readonly number[],
  requested: readonly ProgramOperand[],
): number[] {
  const results: number[] = [];
  const value = (operand: ProgramOperand): number => {
    if (operand.from === "constant") return operand.value;
    if (operand.from === "scalar") return scalars[operand.index] ?? Number.NaN;
    return (operand.from === "step" ? results[operand.index] : undefined) ?? Number.NaN;
  };
  program.steps.forEach(({ op, operands, host }, i) => {
    const compute = ARITHMETIC[op]?.host;
    if (host && compute !== undefined) results[i] = Math.fround(compute(operands.map(value)));
  });
  return requested.map(value);
}

/** Whether the whole program needs no tensor. */
export function runsOnHost({ steps, result, inputs }: Program): boolean {
  return inputs === 0 && (result.from !== "step" || steps[result.index]?.host === true);
}
