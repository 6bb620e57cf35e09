/** Stores a client's own control variates between rounds and sessions, in the browser's IndexedDB. */

import { BrowserStore } from "../../core/data/storage";
import type { ControlVariates } from "../../core/messages/training";
import { combine } from "../../core/numerics/scaffold";

/** A stored vector, and the version that its last counted update began with. */
interface StoredVariate {
  readonly version: number;
  readonly values: Float32Array<ArrayBuffer>;
}

const variates = new BrowserStore<StoredVariate>("minga", "control-variates");

function read(name: string): Promise<StoredVariate | undefined> {
  return variates.get(name).catch(() => undefined);
}

/** Stores a control variate. In a browser without storage it starts at zero again. */
async function write(name: string, variate: StoredVariate): Promise<void> {
  await variates.put(name, variate).catch(() => undefined);
}

/**
 * Returns the client's control variate for a plan; zeros if none is stored, or if the stored one is of another run:
 * within a run versions only increase.
 */
export async function ownVariate(
  { storedAs: name, version }: ControlVariates,
  length: number,
): Promise<Float32Array<ArrayBuffer>> {
  const variate = await read(name);
  const usable = variate !== undefined && variate.version < version && variate.values.length === length;
  return usable ? variate.values : new Float32Array(length);
}

/** Adds the change of a counted update. */
export async function keepChange(control: ControlVariates, change: Float32Array): Promise<void> {
  const values = combine(await ownVariate(control, change.length), change, 1);
  await write(control.storedAs, { version: control.version, values });
}

/** Subtracts the change again, because the round was abandoned and will be repeated. */
export async function undoChange(
  { storedAs: name, version }: ControlVariates,
  change: Float32Array,
): Promise<void> {
  const variate = await read(name);
  if (variate?.version !== version || variate.values.length !== change.length) return;
  await write(name, { version: version - 1, values: combine(variate.values, change, -1) });
}
