import type { Backend } from "./backend";

/** The device lost its GPU; a step did not fit into memory; the loss became NaN or infinite. */
export type FailureKind = "lost" | "memory" | "not-a-number";

/** How a worker is loaded. */
export interface Setup {
  /** Null: the fastest that works on this device. */
  readonly backend: Backend | null;
  /** Backends that failed on this device. */
  readonly avoid: readonly Backend[];
  /** Train in the bundle's slices; null lets a measurement decide. */
  readonly sliced: boolean | null;
  /** Choose `exact` instead of `wasm` where it works: others can then compare the results by their bits. */
  readonly preferExact?: boolean;
}

export interface Failure {
  readonly kind: FailureKind;
  /** The backend that was in use. */
  readonly backend: Backend;
  readonly sliced: boolean;
  /** Whether the bundle has slices. */
  readonly sliceable: boolean;
}

/** After this number of failures the page gives up. */
const MAX_FAILURES = 4;

/**
 * Returns the next setup after `failures` (the newest last), or null to give up.
 *
 * A lost GPU gets one more attempt: drivers restart. Lack of memory is answered with slices, then with another
 * backend. A loss that is no number on a GPU may be the driver's fault; on WASM it is the training's own.
 */
export function recover(setup: Setup, failures: readonly Failure[]): Setup | null {
  const last = failures.at(-1);
  if (last === undefined) return setup;
  if (failures.length > MAX_FAILURES) return null;
  const { backend, kind, sliced, sliceable } = last;
  const losses = failures.filter((failure) => failure.kind === "lost" && failure.backend === backend);
  if (kind === "lost" && losses.length === 1) return { ...setup, backend, sliced };
  // Slices add up in another order than whole batches, which changes bits.
  if (kind === "memory" && sliceable && !sliced && backend !== "exact")
    return { ...setup, backend, sliced: true };
  if (backend === "wasm" || backend === "exact" || backend === "cpu") return null;
  const keepSlices = kind === "memory" && sliced ? true : null;
  return { ...setup, backend: null, avoid: [...setup.avoid, backend], sliced: keepSlices };
}
