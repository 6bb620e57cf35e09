/** The golden values that Python wrote (tests/contract/vectors/data/make_preprocess.py). */

import { readFileSync } from "node:fs";

/** An array as a golden file holds it. */
export interface Golden {
  readonly shape: readonly number[];
  readonly dtype: "uint8" | "int32" | "float32";
  readonly values: readonly number[];
}

export function vectors<T>(name: string): readonly T[] {
  return JSON.parse(
    readFileSync(new URL(`../../../../contract/vectors/preprocess/${name}.json`, import.meta.url), "utf8"),
  );
}
