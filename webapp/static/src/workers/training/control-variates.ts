/** A client's own control variates between rounds and visits, in the browser's IndexedDB. */

import { Keeping } from "../../core/data/storage";
import type { Control } from "../../core/messages/training";
import { combine } from "../../core/numerics/scaffold";

/** One kept vector, and the version that its last counted update began with. */
interface Kept {
  readonly version: number;
  readonly values: Float32Array<ArrayBuffer>;
}

const variates = new Keeping<Kept>("minga", "control-variates");

function read(name: string): Promise<Kept | undefined> {
  return variates.get(name).catch(() => undefined);
}

/** A browser that keeps nothing starts at zero again. */
async function write(name: string, kept: Kept): Promise<void> {
  await variates.put(name, kept).catch(() => undefined);
}

/**
 * The client's control variate for a plan. Zeros where none is kept, or where the kept one is of another run: within a
 * run versions only grow.
 */
export async function ownVariate(
  { kept: name, version }: Control,
  length: number,
): Promise<Float32Array<ArrayBuffer>> {
  const kept = await read(name);
  const usable = kept !== undefined && kept.version < version && kept.values.length === length;
  return usable ? kept.values : new Float32Array(length);
}

/** Adds the change of an update that counts. */
export async function keepChange(control: Control, change: Float32Array): Promise<void> {
  const values = combine(await ownVariate(control, change.length), change, 1);
  await write(control.kept, { version: control.version, values });
}

/** Takes it back out: the round was abandoned, and is begun again. */
export async function undoChange({ kept: name, version }: Control, change: Float32Array): Promise<void> {
  const kept = await read(name);
  if (kept?.version !== version || kept.values.length !== change.length) return;
  await write(name, { version: version - 1, values: combine(kept.values, change, -1) });
}
