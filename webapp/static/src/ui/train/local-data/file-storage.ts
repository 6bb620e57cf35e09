/**
 * Stores files that a volunteer wants to keep until the next session, in this browser's storage (IndexedDB). Files
 * are stored and deleted only on request.
 */

import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { OwnFile } from "../../../core/messages/data-reader";

interface OwnFilesDatabase extends DBSchema {
  files: { key: [task: string, path: string]; value: OwnFile & { readonly task: string } };
}

async function within<R>(work: (database: IDBPDatabase<OwnFilesDatabase>) => Promise<R>): Promise<R> {
  const database = await openDB<OwnFilesDatabase>("minga-own-files", 1, {
    upgrade: (database) => void database.createObjectStore("files", { keyPath: ["task", "path"] }),
  });
  try {
    return await work(database);
  } finally {
    database.close();
  }
}

/** Returns all keys of a task: arrays compare item by item, and an array sorts after any text. */
function allOf(task: string): IDBKeyRange {
  return IDBKeyRange.bound([task], [task, []]);
}

/** Stores these files for the task, in place of earlier ones. */
export function storeFiles(task: string, files: readonly OwnFile[]): Promise<void> {
  return within(async (database) => {
    const { store, done } = database.transaction("files", "readwrite");
    const deleted = store.delete(allOf(task));
    await Promise.all([deleted, ...files.map(({ path, file }) => store.put({ task, path, file })), done]);
  });
}

/** Deletes the stored files of the task. */
export function deleteFiles(task: string): Promise<void> {
  return within((database) => database.delete("files", allOf(task)));
}

/** Returns the stored files of the task; none if the browser has no storage. */
export function storedFiles(task: string): Promise<OwnFile[]> {
  return within((database) => database.getAll("files", allOf(task))).catch(() => []);
}
