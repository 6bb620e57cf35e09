/** The volunteer's own examples, asked from the worker that reads the files. */

import type { Examples } from "../../shared/examples";
import type { OwnCounts, Part, TakeAnswer, TakeRequest } from "../../shared/own-messages";
import type { Source } from "./source";

interface Waiting {
  readonly resolve: (examples: Examples) => void;
  readonly reject: (problem: Error) => void;
}

/** Owns its end of the port. */
export class OwnExamples {
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(
    private readonly port: MessagePort,
    private readonly counts: OwnCounts,
  ) {
    port.onmessage = ({ data }: MessageEvent<TakeAnswer>) => this.#receive(data);
  }

  source(part: Part): Source {
    return { count: this.counts[part], take: (rows) => this.#take(part, rows) };
  }

  close(): void {
    this.port.close();
    for (const { reject } of this.#waiting.values()) reject(new Error("Other files were chosen."));
    this.#waiting.clear();
  }

  #take(part: Part, rows: Uint32Array): Promise<Examples> {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.port.postMessage({ id, part, rows } satisfies TakeRequest);
    });
  }

  #receive(answer: TakeAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ("problem" in answer) waiting?.reject(new Error(answer.problem));
    else waiting?.resolve(answer.examples);
  }
}
