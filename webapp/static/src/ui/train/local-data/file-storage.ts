/**
 * Stores files that a volunteer wants to keep until the next session, in this browser's storage (IndexedDB). Files
 * are stored and deleted only on request.
 */

import type { OwnFile } from "../../../core/messages/data-reader";

const DATABASE = "minga-own-files";
const STORE = "files";

/** One stored file of a task. */
interface StoredFiles extends OwnFile {
  readonly task: string;
}

function answer<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function open(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore(STORE, { keyPath: ["task", "path"] });
  };
  return answer(request);
}

/** Returns all keys of a task: arrays compare item by item, and an array sorts after any text. */
function allOf(task: string): IDBKeyRange {
  return IDBKeyRange.bound([task], [task, []]);
}

async function change(work: (store: IDBObjectStore) => void): Promise<void> {
  const database = await open();
  try {
    const transaction = database.transaction(STORE, "readwrite");
    const done = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
    work(transaction.objectStore(STORE));
    await done;
  } finally {
    database.close();
  }
}

/** Stores these files for the task, in place of earlier ones. */
export function storeFiles(task: string, files: readonly OwnFile[]): Promise<void> {
  return change((store) => {
    store.delete(allOf(task));
    for (const { path, file } of files) store.put({ task, path, file } satisfies StoredFiles);
  });
}

/** Deletes the stored files of the task. */
export function deleteFiles(task: string): Promise<void> {
  return change((store) => store.delete(allOf(task)));
}

/** Returns the stored files of the task; none if the browser has no storage. */
export async function storedFiles(task: string): Promise<OwnFile[]> {
  const database = await open().catch(() => null);
  if (database === null) return [];
  try {
    const stored: StoredFiles[] = await answer(
      database.transaction(STORE).objectStore(STORE).getAll(allOf(task)),
    );
    return stored.map(({ path, file }) => ({ path, file }));
  } finally {
    database.close();
  }
}
