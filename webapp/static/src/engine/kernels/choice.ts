/** Choices between two tensors that broadcast. Elements have 32 bits of any type, those of conditions one byte. */

/** Sizes and steps (in bytes) of four axes, the last one innermost: of the condition `c`, of `yes` and of `no`. */
@unmanaged
class ChoiceAxes {
  size0: i32;
  size1: i32;
  size2: i32;
  size3: i32;
  c0: i32;
  c1: i32;
  c2: i32;
  c3: i32;
  yes0: i32;
  yes1: i32;
  yes2: i32;
  yes3: i32;
  no0: i32;
  no1: i32;
  no2: i32;
  no3: i32;
}

/**
 * out = yes where the condition is not 0, else no: for rows [begin, end) along the last axis; if there is one row only,
 * for its elements.
 */
export function choose(c: usize, yes: usize, no: usize, out: usize, shape: usize, begin: i32, end: i32): void {
  const axes = changetype<ChoiceAxes>(shape);
  if (axes.size0 * axes.size1 * axes.size2 == 1) {
    const to = out + (<usize>begin << 2);
    row(axes, c + begin * axes.c3, yes + begin * axes.yes3, no + begin * axes.no3, to, end - begin);
    return;
  }
  for (let n = begin; n < end; n++) {
    const k = n % axes.size2;
    const j = (n / axes.size2) % axes.size1;
    const i = n / (axes.size2 * axes.size1);
    row(
      axes,
      c + i * axes.c0 + j * axes.c1 + k * axes.c2,
      yes + i * axes.yes0 + j * axes.yes1 + k * axes.yes2,
      no + i * axes.no0 + j * axes.no1 + k * axes.no2,
      out + (<usize>(n * axes.size3) << 2),
      axes.size3,
    );
  }
}

/** `count` elements of one row; what has no step is the same for all. */
function row(axes: ChoiceAxes, c: usize, yes: usize, no: usize, out: usize, count: i32): void {
  const whole = axes.c3 != 0 ? count & ~3 : 0;
  const zero = i32x4.splat(0);
  let i = 0;
  for (; i < whole; i += 4) {
    const four = v128.load32_zero(c + i);
    const mask = i32x4.gt_s(i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(four)), zero);
    const chosen = axes.yes3 != 0 ? v128.load(yes + 4 * i) : v128.load_splat<u32>(yes);
    const other = axes.no3 != 0 ? v128.load(no + 4 * i) : v128.load_splat<u32>(no);
    v128.store(out + 4 * i, v128.bitselect(chosen, other, mask));
  }
  for (; i < count; i++) {
    const from = load<u8>(c + i * axes.c3) ? yes + i * axes.yes3 : no + i * axes.no3;
    store<u32>(out + 4 * i, load<u32>(from));
  }
}
