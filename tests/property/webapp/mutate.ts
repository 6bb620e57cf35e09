/** Seeded mutations of good inputs, as tests/property/fuzzing/mutate.py makes them for Python. */

/** The next number in [0, 1) of a small generator (mulberry32, Tommy Ettinger 2017). */
export function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Value = unknown;
type Fields = Record<string, Value>;

const EDGES = [0, 1, -1, 127, 128, 255, 256, 2 ** 15, 2 ** 16, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1];
const NUMBERS = [0.5, -0, 1e308, -(2 ** 53), Number.NaN, Number.POSITIVE_INFINITY];
const TEXTS = [
  "",
  "a",
  "type",
  "\0",
  "é",
  "../..",
  "a".repeat(65),
  "0".repeat(64),
  "__proto__",
  "constructor",
];
/** First bytes of msgpack's forms. */
const HEADS = [0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xff, ...Array.from({ length: 32 }, (_, at) => 0xc0 + at)];
const LONGEST = 1 << 16;

function isFields(value: Value): value is Fields {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Makes inputs out of `seeds`, which `write` turns into bytes. */
export class Mutator {
  private readonly written: readonly Uint8Array[];

  constructor(
    private readonly random: () => number,
    private readonly seeds: readonly Value[],
    private readonly write: (value: Value) => Uint8Array,
  ) {
    this.written = seeds.map(write);
  }

  make(): Uint8Array {
    const way = this.below(12);
    if (way === 0) return Uint8Array.from({ length: this.below(200) }, () => this.below(256));
    if (way <= 4) return this.changeBytes(this.pick(this.written));
    const changed = this.changed();
    return way === 5 ? this.changeBytes(changed) : changed;
  }

  private changed(): Uint8Array {
    try {
      return this.write(this.change(structuredClone(this.pick(this.seeds))));
    } catch {
      // What cannot be written at all is no input.
      return this.changeBytes(this.pick(this.written));
    }
  }

  private change(value: Value): Value {
    if (Array.isArray(value) && value.length > 0 && this.random() < 0.95) return this.changeList(value);
    if (isFields(value) && this.random() < 0.97) return this.changeFields(value);
    if (value instanceof Uint8Array && this.random() < 0.7) return this.changeBytes(value);
    if (typeof value === "number" && this.random() < 0.8) {
      return this.pick([value - 1, value + 1, ...EDGES, ...NUMBERS]);
    }
    if (typeof value === "string" && value !== "" && this.random() < 0.7) {
      const at = this.below(value.length);
      return value.slice(0, at) + this.pick(["0", "b", "-", "", "\n"]) + value.slice(at + 1);
    }
    return this.anything();
  }

  private changeFields(value: Fields): Value {
    const key = this.pick(Object.keys(value));
    if (key === undefined) return { a: this.anything() };
    const way = this.below(16);
    if (way === 0) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
    if (way === 1) return { ...value, [this.pick(TEXTS)]: this.anything() };
    const other = this.pick(this.seeds);
    if (way <= 4 && isFields(other)) return { ...value, [key]: structuredClone(other[key]) };
    return { ...value, [key]: this.change(value[key]) };
  }

  private changeList(value: Value[]): Value {
    const at = this.below(value.length);
    const way = this.below(6);
    if (way === 0) return value.filter((_, place) => place !== at);
    if (way === 1) return [...value, ...Array.from({ length: this.pick([1, 10, 300]) }, () => value[at])];
    return value.map((item, place) => (place === at ? this.change(item) : item));
  }

  private anything(): Value {
    const way = this.below(7);
    if (way <= 1) return this.pick(EDGES);
    if (way === 2) return this.pick(NUMBERS);
    if (way === 3) return this.pick(TEXTS);
    if (way === 4) return this.pick([null, true, false]);
    if (way === 5) return new Uint8Array(this.pick([0, 1, 4, 64]));
    return this.random() < 0.5 ? [this.anything()] : { [this.pick(TEXTS)]: this.anything() };
  }

  private changeBytes(bytes: Uint8Array): Uint8Array {
    const out = [...bytes];
    for (let times = this.pick([1, 1, 2, 4]); times > 0; times--) this.changeOnce(out);
    return Uint8Array.from(out.slice(0, Math.max(LONGEST, bytes.length)));
  }

  private changeOnce(out: number[]): void {
    const at = this.below(out.length + 1);
    const way = this.below(7);
    if (way === 0 && at < out.length) out[at] = (out[at] ?? 0) ^ (1 << this.below(8));
    else if (way === 1 && at < out.length) out[at] = this.pick(HEADS);
    else if (way === 2) out.splice(at, 0, this.below(256), this.below(256));
    else if (way === 3) out.splice(at, this.pick([1, 2, 4, 16]));
    else if (way === 4)
      out.splice(
        at,
        4,
        ...this.pick([
          [0, 0, 0, 255],
          [255, 255, 255, 255],
          [1, 201, 195, 128],
        ]),
      );
    else if (way === 5) out.length = at;
    else out.splice(at, 0, ...out.slice(at, at + 32));
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }
}
