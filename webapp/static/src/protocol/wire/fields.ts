/** Checks that the messages of the wire are composed of: each returns a received value with its type, or throws. */

/** A frame that is not a message of the protocol: garbage, unknown tag, wrong type, unknown field. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

export type Check<T> = (value: unknown, where: string) => T;
export type Checked<C> = C extends Check<infer T> ? T : never;

type FieldChecks = Readonly<Record<string, Check<unknown>>>;
type CheckedFields<F extends FieldChecks> = { readonly [K in keyof F]: Checked<F[K]> };

function refuse(where: string, expected: string): never {
  throw new FrameError(`The frame is not a message of this protocol: ${where} must be ${expected}.`);
}

interface TextLimits {
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: RegExp;
}

/** Text of `min` to `max` code points that matches `pattern`. */
export function text({ min = 0, max = Number.POSITIVE_INFINITY, pattern }: TextLimits = {}): Check<string> {
  return (value, where) => {
    if (typeof value !== "string") return refuse(where, "text");
    const length = [...value].length;
    if (length < min || length > max) return refuse(where, `text of ${min} to ${max} characters`);
    if (pattern && !pattern.test(value)) return refuse(where, `text like ${pattern.source}`);
    return value;
  };
}

/** A whole number from `least` to `most` that JavaScript can hold exactly. */
export function whole(least = Number.MIN_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER): Check<number> {
  return (value, where) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
      ? (value as number)
      : refuse(where, `a whole number from ${least} to ${most}`);
}

/** Any number; msgpack writes whole ones as integers. */
export const real: Check<number> = (value, where) =>
  typeof value === "number" ? value : refuse(where, "a number");

export const truth: Check<boolean> = (value, where) =>
  typeof value === "boolean" ? value : refuse(where, "true or false");

/** Over 0, and 1 at most. */
export const portion: Check<number> = (value, where) =>
  typeof value === "number" && value > 0 && value <= 1 ? value : refuse(where, "a number over 0, up to 1");

export const bytes: Check<Uint8Array> = (value, where) =>
  value instanceof Uint8Array ? value : refuse(where, "bytes");

/** Bytes, from `least` to `most` of them. */
export function bytesOf(least: number, most = least): Check<Uint8Array> {
  return (value, where) =>
    value instanceof Uint8Array && value.length >= least && value.length <= most
      ? value
      : refuse(where, least === most ? `${least} bytes` : `${least} to ${most} bytes`);
}

export function oneOf<const T extends string>(...words: readonly T[]): Check<T> {
  return (value, where) =>
    words.includes(value as T) ? (value as T) : refuse(where, `one of ${words.join(", ")}`);
}

export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, where) => (value === null ? null : check(value, where));
}

export function list<T>(check: Check<T>, max = Number.POSITIVE_INFINITY, min = 0): Check<readonly T[]> {
  return (value, where) => {
    if (!Array.isArray(value)) return refuse(where, "a list");
    if (value.length > max) return refuse(where, `a list of at most ${max}`);
    if (value.length < min) return refuse(where, `a list of at least ${min}`);
    return value.map((item, index) => check(item, `${where}[${index}]`));
  };
}

/** Two numbers. */
export const pair: Check<readonly [number, number]> = (value, where) => {
  if (!Array.isArray(value) || value.length !== 2) return refuse(where, "a pair of numbers");
  return [real(value[0], `${where}[0]`), real(value[1], `${where}[1]`)];
};

function entries(value: unknown, where: string): [string, unknown][] {
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) {
    return refuse(where, "a map");
  }
  return Object.entries(value);
}

/** A map from names to numbers, at most `max` of them. */
export function numbers(max: number): Check<Readonly<Record<string, number>>> {
  const name = text({ max: 64 });
  return (value, where) => {
    const pairs = entries(value, where);
    if (pairs.length > max) return refuse(where, `a map of at most ${max} entries`);
    return Object.fromEntries(
      pairs.map(([key, item]) => [name(key, `a key of ${where}`), real(item, `${where}.${key}`)]),
    );
  };
}

/** A map with exactly these fields. */
export function record<F extends FieldChecks>(fields: F): Check<CheckedFields<F>> {
  return (value, where) => {
    const given = entries(value, where);
    const unknown = given.find(([key]) => !Object.hasOwn(fields, key));
    if (unknown) return refuse(where, `without the unknown field '${unknown[0]}'`);
    const values = new Map(given);
    return Object.fromEntries(
      Object.entries(fields).map(([key, check]) => [key, check(values.get(key), `${where}.${key}`)]),
    ) as CheckedFields<F>;
  };
}

export type Messages = Readonly<Record<string, FieldChecks>>;
/** Union of the messages that `messages` describes, each with its tag. */
export type MessageOf<M extends Messages> = {
  [T in keyof M]: { readonly type: T } & CheckedFields<M[T]>;
}[keyof M];

/** A map whose `type` is one of the tags and whose other fields are that tag's. */
export function tagged<M extends Messages>(messages: M): Check<MessageOf<M>> {
  const checks = new Map(
    Object.entries(messages).map(([tag, fields]) => [tag, record({ type: oneOf(tag), ...fields })]),
  );
  return (value, where) => {
    const tag = new Map(entries(value, where)).get("type");
    const check = typeof tag === "string" ? checks.get(tag) : undefined;
    return check ? (check(value, String(tag)) as MessageOf<M>) : refuse(where, "tagged with a known type");
  };
}
