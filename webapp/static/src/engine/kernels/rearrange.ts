/** Copies of 32-bit elements in another order: transposes, repeats, slices, reversals. */

import { transpose4 } from "./tile";

/** Sizes of six axes of the result, and the bytes from one element of the source to the next along each. */
@unmanaged
class RearrangePlan {
  size0: i32;
  size1: i32;
  size2: i32;
  size3: i32;
  size4: i32;
  size5: i32;
  step0: i32;
  step1: i32;
  step2: i32;
  step3: i32;
  step4: i32;
  step5: i32;
}

/** Planes [begin, end) of `out`: a plane is the last two axes. A step of 0 repeats. */
export function rearrange(x: usize, out: usize, plan: usize, begin: i32, end: i32): void {
  const p = changetype<RearrangePlan>(plan);
  const plane = <usize>(p.size4 * p.size5) << 2;
  out += <usize>begin * plane;
  for (let n = begin; n < end; n++, out += plane) {
    let rest = n;
    const i3 = rest % p.size3;
    rest /= p.size3;
    const i2 = rest % p.size2;
    rest /= p.size2;
    const i1 = rest % p.size1;
    const i0 = rest / p.size1;
    const from = x + i0 * p.step0 + i1 * p.step1 + i2 * p.step2 + i3 * p.step3;
    if (p.step5 == 4) lines(from, out, p);
    else if (p.step5 == 0) repeats(from, out, p);
    else if (p.step4 == 4) turned(from, out, p);
    else scattered(from, out, p);
  }
}

/** Whole lines lie together in the source. */
function lines(from: usize, out: usize, p: RearrangePlan): void {
  const length = <usize>p.size5 << 2;
  const whole = length & ~15;
  for (let i = 0; i < p.size4; i++, from += p.step4, out += length) {
    let j: usize = 0;
    for (; j < whole; j += 16) v128.store(out + j, v128.load(from + j));
    for (; j < length; j += 4) store<u32>(out + j, load<u32>(from + j));
  }
}

/** One element fills a line. */
function repeats(from: usize, out: usize, p: RearrangePlan): void {
  const length = <usize>p.size5 << 2;
  const whole = length & ~15;
  for (let i = 0; i < p.size4; i++, from += p.step4, out += length) {
    const all = v128.load_splat<u32>(from);
    let j: usize = 0;
    for (; j < whole; j += 16) v128.store(out + j, all);
    for (; j < length; j += 4) store<u32>(out + j, load<u32>(from));
  }
}

/** The transpose of a matrix, in blocks of 4 x 4. */
function turned(from: usize, out: usize, p: RearrangePlan): void {
  const length = <usize>p.size5 << 2;
  const rows = p.size4 & ~3;
  const columns = p.size5 & ~3;
  for (let i = 0; i < rows; i += 4) {
    for (let j = 0; j < columns; j += 4) {
      const target = out + <usize>i * length + (<usize>j << 2);
      transpose4(from + 4 * i + j * p.step5, p.step5, target, length);
    }
  }
  for (let i = 0; i < p.size4; i++) {
    for (let j = i < rows ? columns : 0; j < p.size5; j++) {
      store<u32>(out + <usize>i * length + (<usize>j << 2), load<u32>(from + 4 * i + j * p.step5));
    }
  }
}

function scattered(from: usize, out: usize, p: RearrangePlan): void {
  for (let i = 0; i < p.size4; i++, from += p.step4) {
    for (let j = 0, at = from; j < p.size5; j++, at += p.step5, out += 4) store<u32>(out, load<u32>(at));
  }
}
