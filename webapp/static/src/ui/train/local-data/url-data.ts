/** The part of the training page for examples that are downloaded from another server when training starts. */

import { fetchFiles, type UrlFile } from "../../../client/session/url-data";
import { DataReaderWorker } from "../../../client/workers/data-reader-worker";
import { trainingWorker } from "../../../client/workers/training-worker";
import type { Report } from "../../../core/messages/data-reader";
import { dataKey, type PartitionedData } from "../../../core/numerics/partition";
import type { Preprocess } from "../../../core/preprocessing/declaration";
import { say } from "../../../i18n";
import { megabytes } from "../../../i18n/formatting";
import { requireElement, setText } from "../../lib/dom";
import type { OwnExamples } from "./local-data";

const words = say.url;

/** The server's description of the task's data. */
interface UrlDataStatus {
  readonly preprocess: Preprocess;
  readonly url: {
    readonly files: readonly UrlFile[];
    readonly train: number;
    readonly held_out: number;
    /** The share of held-out examples. */
    readonly holdout: number;
    readonly shard_examples: number;
  };
}

/** Downloads the data. Owns the reader that has the examples. */
class UrlDataCard implements OwnExamples {
  /** The server assigns them. */
  readonly examples = null;
  readonly #reader = new DataReaderWorker();
  #report: Report | null = null;
  #dealt: PartitionedData | null = null;
  #fetching: AbortController | null = null;

  constructor(
    private readonly section: HTMLElement,
    private readonly changed: () => void,
  ) {
    requireElement(section, "url-cancel").addEventListener("click", () => this.#fetching?.abort());
  }

  get ready(): boolean {
    return this.#report !== null;
  }

  get busy(): boolean {
    return this.#fetching !== null;
  }

  lock(): void {}

  spawn = (): Worker => {
    const worker = trainingWorker();
    if (this.#report !== null) this.#reader.serve(worker, this.#report.counts, this.#dealt);
    return worker;
  };

  /** Returns whether the examples are ready; if not, this part of the page says why. */
  async prepare(): Promise<boolean> {
    if (this.#fetching !== null) return false;
    const fetching = new AbortController();
    this.#fetching = fetching;
    this.#busy(true);
    try {
      await this.#fetch(fetching.signal);
    } catch (problem) {
      this.#showLine(
        fetching.signal.aborted ? words.cancelled : say.problem(problem),
        !fetching.signal.aborted,
      );
      // On small screens the button is at the foot of the page, far from this part.
      this.section.scrollIntoView({ block: "nearest" });
    }
    this.#fetching = null;
    this.#busy(false);
    return this.ready;
  }

  async #fetch(signal: AbortSignal): Promise<void> {
    const { preprocess, url } = await this.#ask(signal);
    const total = url.files.reduce((sum, { bytes }) => sum + bytes, 0);
    const bar = requireElement<HTMLProgressElement>(this.section, "url-progress");
    let received = 0;
    const onBytes = (bytes: number): void => {
      received += bytes;
      [bar.value, bar.max] = [received, total];
      this.#showLine(words.fetching(megabytes(received), megabytes(total)));
    };
    onBytes(0);
    const files = await fetchFiles(url.files, { pageHost: location.hostname, signal, onBytes });
    this.#showLine(words.reading);
    const volunteer = { minimum: 1, maximum: 2 ** 21, holdout: url.holdout };
    const named = files.map((file) => ({ path: file.name, file }));
    const report = await this.#reader.read({ preprocess, volunteer }, named, () => undefined);
    signal.throwIfAborted();
    if (report === null) return;
    check(report, url);
    const key = await dataKey(url.files.map(({ sha256 }) => sha256));
    this.#dealt = { key, most: url.shard_examples };
    this.#report = report;
    this.#showLine(words.here(report.counts.train, report.counts.holdout));
  }

  async #ask(signal: AbortSignal): Promise<UrlDataStatus> {
    const response = await fetch(`/api/tasks/${this.section.dataset.task}/data`, { signal }).catch(
      () => null,
    );
    if (!response?.ok) throw new Error(say.own.notFetched);
    return (await response.json()) as UrlDataStatus;
  }

  #busy(busy: boolean): void {
    requireElement(this.section, "url-progress").hidden = !busy;
    requireElement(this.section, "url-cancel").hidden = !busy;
    this.changed();
  }

  #showLine(line: string, wrong = false): void {
    const element = requireElement(this.section, "url-line");
    element.classList.toggle("lacking", wrong);
    setText(element, line);
  }
}

/** Throws an error for people if the examples are not those that the server assigns. */
function check({ problems, problemCount, counts }: Report, { train, held_out }: UrlDataStatus["url"]): void {
  const [first] = problems;
  if (problemCount > 0 && first)
    throw new Error(words.broken(say.message(first.where), say.message(first.text)));
  if (counts.train !== train || counts.holdout !== held_out) {
    throw new Error(words.otherCount(counts.train, counts.holdout, train, held_out));
  }
}

/** Binds the section. */
export function bindUrlData(section: HTMLElement, changed: () => void): OwnExamples {
  return new UrlDataCard(section, changed);
}
