/**
 * Stores the state of a unit's training in the browser's files for this site (OPFS). Two files take turns, so that one is
 * whole at any time; a browser without such files has no checkpoints. client/units/checkpoints.ts deletes them.
 *
 * A file is the SHA-256 of all that follows, the length of a JSON header (4 bytes, little-endian), the header, and the
 * state's values.
 */

import { sha256 } from "../../core/crypto/bytes";
import { checkpointName, taskFolder } from "../../core/data/checkpoint-folder";
import type { CheckpointPlace, TrainingState } from "../../core/messages/training";
import { StateSaver } from "./state-saver";

interface CheckpointHeader {
  readonly key: string;
  readonly backend: string;
  readonly steps: number;
  /** Bytes of weights, slots and totals. */
  readonly sizes: readonly [number, number, number];
  readonly hashes: readonly string[];
}

/** The number of values of a state. */
export interface StateSizes {
  readonly weights: number;
  readonly slots: number;
}

const DIGEST = 32;
const COPIES = [0, 1];

/** Leases whose units are over: nothing is written for them any more. */
const over = new Set<number>();

/** Returns the bytes of a state's file. */
export async function encodeState(
  key: string,
  backend: string,
  state: TrainingState,
): Promise<Uint8Array<ArrayBuffer>> {
  const { steps, weights, slots, totals, hashes } = state;
  const values = [weights, slots, totals];
  const sizes = values.map(({ byteLength }) => byteLength);
  const header = new TextEncoder().encode(JSON.stringify({ key, backend, steps, sizes, hashes }));
  const total = sizes.reduce((sum, size) => sum + size, DIGEST + 4 + header.length);
  const file = new Uint8Array(total);
  new DataView(file.buffer).setUint32(DIGEST, header.length, true);
  file.set(header, DIGEST + 4);
  let at = DIGEST + 4 + header.length;
  for (const value of values) {
    file.set(new Uint8Array(value), at);
    at += value.byteLength;
  }
  file.set(await sha256(file.subarray(DIGEST)));
  return file;
}

/** Returns the state in a file; null for one that is torn, or of another unit, backend or model. */
export async function decodeState(
  file: Uint8Array<ArrayBuffer>,
  key: string,
  backend: string,
  sizes: StateSizes,
): Promise<TrainingState | null> {
  if (file.length < DIGEST + 4) return null;
  const digest = await sha256(file.subarray(DIGEST));
  if (digest.some((byte, i) => byte !== file[i])) return null;
  const length = new DataView(file.buffer, file.byteOffset).getUint32(DIGEST, true);
  const begin = DIGEST + 4 + length;
  const header = JSON.parse(new TextDecoder().decode(file.subarray(DIGEST + 4, begin))) as CheckpointHeader;
  const [weights, slots, totals] = header.sizes;
  const fits = weights === 4 * sizes.weights && slots === 4 * sizes.slots;
  if (header.key !== key || header.backend !== backend || !fits) return null;
  const part = (from: number, size: number) => file.slice(begin + from, begin + from + size).buffer;
  return {
    steps: header.steps,
    weights: part(0, weights),
    slots: part(weights, slots),
    totals: part(weights + slots, totals),
    hashes: header.hashes,
  };
}

async function readCopy(
  folder: FileSystemDirectoryHandle,
  name: string,
): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    const file = await (await folder.getFileHandle(name)).getFile();
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    return null;
  }
}

async function writeCopy(
  folder: FileSystemDirectoryHandle,
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const handle = await folder.getFileHandle(name, { create: true });
  const access = await handle.createSyncAccessHandle();
  try {
    access.truncate(0);
    access.write(bytes, { at: 0 });
  } finally {
    access.close();
  }
}

/** Returns what saves the states of a unit's training; it continues from the newest whole one. */
export async function storedStates(
  { task, key, lease }: CheckpointPlace,
  every: number,
  backend: string,
  sizes: StateSizes,
): Promise<StateSaver> {
  over.delete(lease);
  const folder = await taskFolder(task, true);
  if (folder === null) return new StateSaver(Number.POSITIVE_INFINITY, () => undefined);
  const names = COPIES.map((copy) => checkpointName(key, lease, copy));
  const states: (TrainingState | null)[] = [];
  for (const name of names) {
    const bytes = await readCopy(folder, name);
    const state = bytes && (await decodeState(bytes, key, backend, sizes));
    if (bytes && !state) await folder.removeEntry(name).catch(() => undefined);
    states.push(state);
  }
  const steps = (copy: number) => states[copy]?.steps ?? 0;
  let newest = steps(1) > steps(0) ? 1 : 0;
  const write = async (state: TrainingState) => {
    const bytes = await encodeState(key, backend, state);
    if (over.has(lease)) return;
    newest = 1 - newest;
    // A full device loses only this state.
    await writeCopy(folder, names[newest] as string, bytes).catch(() => undefined);
    if (over.has(lease)) await folder.removeEntry(names[newest] as string).catch(() => undefined);
  };
  return new StateSaver(every, write, states[newest] ?? null);
}

/** Writes no more states of this lease: its unit is over. */
export function forgetStates(lease: number): void {
  over.add(lease);
}
