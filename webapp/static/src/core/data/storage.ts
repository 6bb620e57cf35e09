/** Stores named values between sessions in the browser's IndexedDB: one database with one store for each kind. */

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** A store of one kind. A browser without storage rejects every promise. */
export class BrowserStore<T> {
  constructor(
    private readonly database: string,
    private readonly store: string,
  ) {}

  get(name: string): Promise<T | undefined> {
    return this.#within("readonly", (store) => settled<T | undefined>(store.get(name)));
  }

  async put(name: string, thing: T): Promise<void> {
    await this.#within("readwrite", (store) => settled(store.put(thing, name)));
  }

  /**
   * Stores `thing` if `name` has no value yet; returns the stored value. Two windows that call it together get the
   * same.
   */
  putFirst(name: string, thing: T): Promise<T> {
    return this.#within("readwrite", async (store) => {
      const stored = await settled<T | undefined>(store.get(name));
      if (stored === undefined) await settled(store.put(thing, name));
      return stored ?? thing;
    });
  }

  async #within<R>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => Promise<R>): Promise<R> {
    const opening = indexedDB.open(this.database, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(this.store);
    const database = await settled(opening);
    try {
      return await work(database.transaction(this.store, mode).objectStore(this.store));
    } finally {
      database.close();
    }
  }
}
