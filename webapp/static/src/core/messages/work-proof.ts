/** Messages between the page and the worker that proves work. The worker serves one proof, and is ended after it. */

import type { Bytes } from "../crypto/bytes";

export interface ToProver {
  readonly type: "prove";
  readonly seed: Bytes;
  readonly bits: number;
}

/** The nonce of the next part; parts are found in their order. */
export interface FromProver {
  readonly type: "part";
  readonly nonce: number;
}
