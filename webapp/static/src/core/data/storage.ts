/** Stores named values between sessions in the browser's IndexedDB: one database with one store for each kind. */

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function completed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
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

  /** Replaces a value by what `change` makes of it. Resolves once the new one is written to the disk. */
  async update(name: string, change: (stored: T | undefined) => T): Promise<void> {
    const database = await this.#open();
    try {
      const transaction = database.transaction(this.store, "readwrite", { durability: "strict" });
      const written = completed(transaction);
      const store = transaction.objectStore(this.store);
      store.put(change(await settled<T | undefined>(store.get(name))), name);
      await written;
    } finally {
      database.close();
    }
  }

  async #within<R>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => Promise<R>): Promise<R> {
    const database = await this.#open();
    try {
      return await work(database.transaction(this.store, mode).objectStore(this.store));
    } finally {
      database.close();
    }
  }

  #open(): Promise<IDBDatabase> {
    const opening = indexedDB.open(this.database, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(this.store);
    return settled(opening);
  }
}
