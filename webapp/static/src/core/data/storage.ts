/** Stores named values between sessions in the browser's IndexedDB: one database with one store for each kind. */

import { type IDBPDatabase, openDB } from "idb";

/** A store of one kind. A browser without storage rejects every promise. */
export class BrowserStore<T> {
  constructor(
    private readonly database: string,
    private readonly store: string,
  ) {}

  get(name: string): Promise<T | undefined> {
    return this.#within((database) => database.get(this.store, name));
  }

  put(name: string, thing: T): Promise<void> {
    return this.#within(async (database) => void (await database.put(this.store, thing, name)));
  }

  /**
   * Stores `thing` if `name` has no value yet; returns the stored value. Two windows that call it together get the
   * same.
   */
  putFirst(name: string, thing: T): Promise<T> {
    return this.#within(async (database) => {
      const { store } = database.transaction(this.store, "readwrite");
      const stored: T | undefined = await store.get(name);
      if (stored === undefined) await store.put(thing, name);
      return stored ?? thing;
    });
  }

  /** Replaces a value by what `change` makes of it. Resolves once the new one is written to the disk. */
  update(name: string, change: (stored: T | undefined) => T): Promise<void> {
    return this.#within(async (database) => {
      const { store, done } = database.transaction(this.store, "readwrite", { durability: "strict" });
      await Promise.all([store.put(change(await store.get(name)), name), done]);
    });
  }

  async #within<R>(work: (database: IDBPDatabase) => Promise<R>): Promise<R> {
    const upgrade = (database: IDBPDatabase) => void database.createObjectStore(this.store);
    const database = await openDB(this.database, 1, { upgrade });
    try {
      return await work(database);
    } finally {
      database.close();
    }
  }
}
