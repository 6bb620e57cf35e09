/**
 * Files that a volunteer wants to find again on the next visit, in this browser's own storage (IndexedDB). Nothing is
 * kept unless asked for, and what is kept is gone when asked for.
 */

import type { OwnFile } from "../../../core/messages/data-reader";

const DATABASE = "minga-own-files";
const STORE = "files";

/** One kept file of a task. */
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

/** All keys of a task: arrays compare item by item, and an array comes after any text. */
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

/** Keeps these files for the task, in place of those kept before. */
export function storeFiles(task: string, files: readonly OwnFile[]): Promise<void> {
  return change((store) => {
    store.delete(allOf(task));
    for (const { path, file } of files) store.put({ task, path, file } satisfies StoredFiles);
  });
}

/** Deletes what is kept for the task. */
export function deleteFiles(task: string): Promise<void> {
  return change((store) => store.delete(allOf(task)));
}

/** What is kept for the task; nothing where the browser keeps nothing. */
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
