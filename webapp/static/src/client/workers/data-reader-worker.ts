/** The worker that reads a volunteer's own files, with promises. Owns the worker: `terminate` frees its memory. */

import type { FromReader, OwnFile, Report, ToReader } from "../../core/messages/data-reader";
import type { OwnCounts } from "../../core/messages/local-data";
import type { ToWorker } from "../../core/messages/training";
import type { PartitionedData } from "../../core/numerics/partition";
import type { DataSpec } from "../../core/preprocessing/declaration";
import { UserError } from "../../core/user-messages";
import { say } from "../../i18n";
import "./script-policy";

/** Called while files are read. */
export type DataReading = (done: number, total: number) => void;

interface PendingReading {
  readonly resolve: (report: Report | null) => void;
  readonly reject: (problem: Error) => void;
  readonly reading: DataReading;
}

function readerWorker(): Worker {
  return new Worker(new URL("../../workers/data-reader/main.ts", import.meta.url), { type: "module" });
}

export class DataReaderWorker {
  readonly #worker: Worker;
  #last = 0;
  #pending: PendingReading | null = null;

  constructor(spawn = readerWorker) {
    this.#worker = spawn();
    this.#worker.onmessage = ({ data }: MessageEvent<FromReader>) => this.#receive(data);
    this.#worker.onerror = ({ message }) => {
      this.#pending?.reject(new Error(say.workers.filesUnreadable(message)));
    };
  }

  /** Reads the files in place of earlier ones. Returns null if other files were requested before it was done. */
  read(data: DataSpec, files: readonly OwnFile[], reading: DataReading): Promise<Report | null> {
    this.#pending?.resolve(null);
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject, reading };
      this.#worker.postMessage({ type: "read", id, data, files } satisfies ToReader);
    });
  }

  /** Gives a training worker access to the examples of the last report. */
  serve(trainer: Worker, counts: OwnCounts, dealt: PartitionedData | null = null): void {
    const { port1, port2 } = new MessageChannel();
    this.#worker.postMessage({ type: "serve", port: port1 } satisfies ToReader, [port1]);
    trainer.postMessage({ type: "own", port: port2, counts, dealt } satisfies ToWorker, [port2]);
  }

  terminate(): void {
    this.#pending?.resolve(null);
    this.#worker.terminate();
  }

  #receive(message: FromReader): void {
    if (message.id !== this.#last) return;
    switch (message.type) {
      case "reading":
        this.#pending?.reading(message.done, message.total);
        return;
      case "report":
        this.#pending?.resolve(message.report);
        return;
      case "failed":
        this.#pending?.reject(new UserError(message.problem));
    }
  }
}
