/** What the training page and the collector of examples know of each other. */

import type { OwnFile } from "../../../core/messages/data-reader";

/** The volunteer's files, of which collected examples become a part. */
export interface CollectorFiles {
  /** Returns all files, chosen and collected ones. */
  all(): readonly OwnFile[];
  add(files: readonly OwnFile[]): Promise<void>;
  remove(path: string): Promise<void>;
}

/** What the page tells the collector. */
export interface Collector {
  /** Shows the collected ones of the files, which changed. */
  show(): void;
  /** Stops collecting while the device trains. */
  lock(training: boolean): void;
}
