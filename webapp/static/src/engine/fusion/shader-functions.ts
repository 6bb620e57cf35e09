/**
 * The functions that expressions of arithmetic.ts use beyond those of GLSL and WGSL, written once for both. A
 * language adds the relations `gt`, `ge`, `lt`, `le`, `eq`, `ne`, the test `nan`, the value `notANumber()` and the
 * choice `pick(condition, then, otherwise)`.
 */

interface Definition {
  readonly parameters: readonly string[];
  readonly body: string;
}

function define(parameters: string, body: string): Definition {
  return { parameters: parameters.split(" "), body };
}

/** Ordered so that each function follows those that it uses. */
export const VOCABULARY: Readonly<Record<string, Definition>> = {
  // Either operand's NaN wins, as in TensorFlow.
  larger: define("a b", "pick(nan(a), a, pick(gt(a, b), a, b))"),
  smaller: define("a b", "pick(nan(a), a, pick(lt(a, b), a, b))"),
  // Taylor series where the subtraction or addition of 1 would cancel.
  expMinusOne: define(
    "x",
    "pick(lt(abs(x), V(0.01)), x * (V(1.0) + x * (V(0.5) + x * V(0.16666667))), exp(x) - V(1.0))",
  ),
  // log(0) is a large number on some devices; the quotient is minus infinity on all.
  logarithm: define("x", "pick(lt(x, V(0.0)), notANumber(), pick(eq(x, V(0.0)), V(-1.0) / abs(x), log(x)))"),
  logOnePlus: define(
    "x",
    "pick(lt(abs(x), V(0.01)), x * (V(1.0) - x * (V(0.5) - x * (V(0.33333333) - x * V(0.25)))), logarithm(V(1.0) + x))",
  ),
  // exp of a number that is not positive cannot overflow.
  decay: define("x", "exp(V(-2.0) * abs(x))"),
  hyperbolicTangent: define("x", "sign(x) * (V(1.0) - decay(x)) / (V(1.0) + decay(x))"),
  softplus: define("x", "larger(x, V(0.0)) + logOnePlus(exp(-abs(x)))"),
  // Abramowitz and Stegun 1964, 7.1.26: good to 1.5e-7.
  errorSeries: define(
    "t",
    "((((V(1.061405429) * t - V(1.453152027)) * t + V(1.421413741)) * t - V(0.284496736)) * t + V(0.254829592)) * t",
  ),
  errorFunction: define(
    "x",
    "sign(x) * (V(1.0) - errorSeries(V(1.0) / (V(1.0) + V(0.3275911) * abs(x))) * exp(-x * x))",
  ),
  odd: define("x", "eq(x - V(2.0) * floor(x * V(0.5)), V(1.0))"),
  signedPower: define("a b", "pick(lt(a, V(0.0)) * odd(b), -pow(abs(a), b), pow(abs(a), b))"),
  power: define(
    "a b",
    "pick(eq(b, V(0.0)), V(1.0), pick(lt(a, V(0.0)) * ne(floor(b), b), notANumber(), signedPower(a, b)))",
  ),
};

/** The definitions that `lines` use, written by `write`. */
export function vocabularyFor(
  lines: readonly string[],
  write: (name: string, parameters: readonly string[], body: string) => string,
): string {
  const used = new Set<string>();
  const search = (text: string): void => {
    for (const [word] of text.matchAll(/\w+(?=\()/g)) {
      const definition = VOCABULARY[word];
      if (definition === undefined || used.has(word)) continue;
      used.add(word);
      search(definition.body);
    }
  };
  for (const line of lines) search(line);
  return Object.entries(VOCABULARY)
    .filter(([name]) => used.has(name))
    .map(([name, { parameters, body }]) => write(name, parameters, body))
    .join("\n");
}
