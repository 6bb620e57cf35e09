/** The logarithmic scale of a chart: its bounds and its ticks. Pure. */

/** Factors between ticks of one decade, the sparsest first. */
const FACTORS: readonly (readonly number[])[] = [[1], [1, 3], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]];
/** The share of its height that a logarithmic scale leaves free at both ends. */
const MARGIN = 0.05;

/** Returns the bounds of a logarithmic scale for values between `least` and `most`, which are above zero. */
export function logBounds(least: number, most: number): readonly [number, number] {
  if (!(least > 0) || !(most >= least)) return [0.1, 1];
  if (least === most) return [least / 2, most * 2];
  const room = (Math.log10(most) - Math.log10(least)) * MARGIN;
  return [10 ** (Math.log10(least) - room), 10 ** (Math.log10(most) + room)];
}

/** Returns about `count` ticks between `least` and `most`, at 1, 2, 5 and their like of each decade. */
export function logTicks(least: number, most: number, count: number): number[] {
  if (!(least > 0) || !(most > least)) return [];
  const fitting = FACTORS.map((factors) => decadeTicks(least, most, factors)).filter(
    (ticks) => ticks.length <= count,
  );
  const finest = fitting.at(-1);
  // Too many decades: every second, third … of them.
  if (finest === undefined) return thin(decadeTicks(least, most, [1]), count);
  // Within a part of a decade even the finest factors have hardly a tick: ticks as of a linear scale.
  return finest.length >= 2 ? finest : linearTicks(least, most, count);
}

/** Returns about `count` ticks, at multiples of 1, 2 or 5 times a power of ten. */
export function linearTicks(least: number, most: number, count: number): number[] {
  if (!(most > least) || count < 1) return [];
  const rough = (most - least) / count;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * magnitude).find((one) => one >= rough) ?? rough;
  const first = Math.ceil(least / step);
  const ticks = Math.floor(most / step) - first + 1;
  return Array.from({ length: Math.max(0, ticks) }, (_, index) => tidy((first + index) * step));
}

function decadeTicks(least: number, most: number, factors: readonly number[]): number[] {
  const decades = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most); power += 1) decades.push(power);
  return decades
    .flatMap((power) => factors.map((factor) => tidy(factor * 10 ** power)))
    .filter((tick) => tick >= least && tick <= most);
}

function thin(ticks: readonly number[], count: number): number[] {
  const every = Math.ceil(ticks.length / Math.max(1, count));
  return ticks.filter((_, index) => index % every === 0);
}

/** Removes the rounding of binary fractions: 0.30000000000000004 is 0.3. */
function tidy(value: number): number {
  return Number(value.toPrecision(12));
}
