/** What a browser keeps between visits, by names, in its IndexedDB: one database with one store for each kind of thing. */

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Things of one kind. A browser that keeps nothing rejects every promise. */
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

  /** What is kept under `name`: `thing` where nothing was. Of two windows that ask at once, both get the same. */
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
