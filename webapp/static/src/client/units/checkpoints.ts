/**
 * The checkpoints of this browser's units: where the worker writes them, and when they are deleted. A browser without
 * files for the site, as in some private windows, has none.
 */

import { sha256, toHex, utf8 } from "../../core/crypto/bytes";
import { checkpointFolder, leaseOf, taskFolder } from "../../core/data/checkpoint-folder";
import type { StateSaving } from "../../core/messages/training";
import type { Unit } from "../../protocol/units/unit-client-events";

/** Milliseconds between two checkpoints of a unit. */
const EVERY_MS = 30_000;
/** Servers wait for no unit as long as this. */
const OLDEST_MS = 86_400_000;

/** Who trains a unit; nobody else may continue its training. */
export interface UnitOwner {
  readonly task: string;
  readonly client: string;
  readonly bundle: string;
  readonly program: string | null;
}

async function remove(folder: FileSystemDirectoryHandle, name: string): Promise<void> {
  // A file that the worker is writing now is deleted by the worker.
  await folder.removeEntry(name).catch(() => undefined);
}

async function isOld(file: FileSystemHandle): Promise<boolean> {
  const { lastModified } = await (file as FileSystemFileHandle).getFile();
  return lastModified < Date.now() - OLDEST_MS;
}

/** Returns how the worker saves a unit's training; undefined if no later page could continue it. */
export async function savingOf(
  { task, client, bundle, program }: UnitOwner,
  unit: Unit,
): Promise<StateSaving | undefined> {
  // A server takes a unit back at once that starts from weights that only this page has.
  if (unit.start !== "given" || globalThis.crypto?.subtle === undefined) return undefined;
  const { lease, seconds: _, heartbeat: __, ...content } = unit;
  const fields = Object.entries(content).sort(([one], [other]) => (one < other ? -1 : 1));
  const key = toHex(await sha256(utf8(JSON.stringify([client, bundle, program, fields]))));
  return { every: EVERY_MS, state: null, place: { task, key, lease } };
}

/** Deletes all tasks' old checkpoints, and returns the leases of which `task` has others. */
export async function checkpointedLeases(task: string): Promise<number[]> {
  const leases = new Set<number>();
  try {
    const root = await checkpointFolder(false);
    for await (const [name, folder] of root?.entries() ?? []) {
      for await (const [file, handle] of (folder as FileSystemDirectoryHandle).entries()) {
        const lease = leaseOf(file);
        if (lease === null || (await isOld(handle))) await remove(folder as FileSystemDirectoryHandle, file);
        else if (name === task) leases.add(lease);
      }
    }
  } catch {
    // Another page deletes files at the same time.
  }
  return [...leases];
}

/** Deletes the checkpoints of `task` except those of `leases`: the other units are over, or others'. */
export async function keepCheckpoints(task: string, leases: ReadonlySet<number>): Promise<void> {
  try {
    const folder = await taskFolder(task, false);
    for await (const name of folder?.keys() ?? []) {
      if (!leases.has(leaseOf(name) ?? -1)) await remove(folder as FileSystemDirectoryHandle, name);
    }
  } catch {
    // Another page deletes files at the same time.
  }
}
