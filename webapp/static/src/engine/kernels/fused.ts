/**
 * Several elementwise functions in one pass: a program of the functions of map.ts, run on one piece of a row after the
 * other. A value between two functions stays in a register, which is a piece of scratch memory.
 */

import { combineRow, map } from "./map";

/** Bytes of a register: large enough that choosing functions costs little, small enough for the first-level cache. */
const PIECE: usize = 1024;
/** How functions are numbered: those of one operand as in `map`, those of two from here on, and copies. */
const BINARY: i32 = 32;
const COPY: i32 = 64;

/** Four axes of the result, the last one innermost; operands and instructions follow. */
@unmanaged
class FusedProgram {
  size0: i32;
  size1: i32;
  size2: i32;
  size3: i32;
  operands: i32;
  registers: i32;
  instructions: i32;
  unused: i32;
}

/** Where an operand begins, and its steps along the axes in bytes. */
@unmanaged
class FusedOperand {
  address: usize;
  step0: i32;
  step1: i32;
  step2: i32;
  step3: i32;
}

/**
 * Registers, operands and the result count in this order. A function of operands without steps gives one number:
 * then it is not `whole`.
 */
@unmanaged
class FusedInstruction {
  op: i32;
  a: i32;
  stepA: i32;
  b: i32;
  stepB: i32;
  to: i32;
  whole: i32;
}

/**
 * out = program(operands) for rows [begin, end) along the last axis; if there is one row only, for its elements.
 * Scratch: an address for each register, operand and the result, rounded up to 16 bytes, then the registers.
 */
export function evaluate(program: usize, out: usize, scratch: usize, begin: i32, end: i32): void {
  const p = changetype<FusedProgram>(program);
  const addresses = p.registers + p.operands + 1;
  const first = scratch + ((<usize>addresses * 4 + 15) & ~15);
  for (let r = 0; r < p.registers; r++) store<usize>(scratch + (<usize>r << 2), first + <usize>r * PIECE);
  if (p.size0 * p.size1 * p.size2 == 1) {
    row(p, out, scratch, 0, 0, 0, <usize>begin << 2, <usize>end << 2);
    return;
  }
  const length = <usize>p.size3 << 2;
  for (let n = begin; n < end; n++) {
    const j = n / p.size2;
    row(p, out + <usize>n * length, scratch, j / p.size1, j % p.size1, n % p.size2, 0, length);
  }
}

/** Bytes [first, last) of the row i, j, k. */
function row(p: FusedProgram, out: usize, scratch: usize, i: i32, j: i32, k: i32, first: usize, last: usize): void {
  const operands = changetype<usize>(p) + offsetof<FusedProgram>();
  const instructions = operands + <usize>p.operands * offsetof<FusedOperand>();
  const end = instructions + <usize>p.instructions * offsetof<FusedInstruction>();
  for (let at = first; at < last; at += PIECE) {
    let address = scratch + (<usize>p.registers << 2);
    for (let from = operands; from < instructions; from += offsetof<FusedOperand>(), address += 4) {
      const o = changetype<FusedOperand>(from);
      const begin = o.address + i * o.step0 + j * o.step1 + k * o.step2;
      store<usize>(address, o.step3 != 0 ? begin + at : begin);
    }
    store<usize>(address, out + at);
    const length = min(PIECE, last - at);
    for (let from = instructions; from < end; from += offsetof<FusedInstruction>()) {
      perform(changetype<FusedInstruction>(from), scratch, length);
    }
  }
}

function perform(f: FusedInstruction, addresses: usize, length: usize): void {
  const a = load<usize>(addresses + (<usize>f.a << 2));
  const to = load<usize>(addresses + (<usize>f.to << 2));
  const bytes = f.whole != 0 ? length : 4;
  if (f.op < BINARY) return map(f.op, a, to, 0, <i32>(bytes >> 2));
  if (f.op < COPY) {
    const b = load<usize>(addresses + (<usize>f.b << 2));
    return combineRow(f.op - BINARY, a, f.stepA, b, f.stepB, to, bytes);
  }
  if (f.stepA != 0) memory.copy(to, a, bytes);
  else for (let i: usize = 0; i < bytes; i += 4) store<u32>(to + i, load<u32>(a));
}
