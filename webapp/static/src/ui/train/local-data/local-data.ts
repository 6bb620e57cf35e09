/** The part of the training page where volunteers choose, check and preview their own files. */

import { DataReaderWorker } from "../../../client/workers/data-reader-worker";
import { trainingWorker } from "../../../client/workers/training-worker";
import type { OwnFile, Report } from "../../../core/messages/data-reader";
import type { DataSpec } from "../../../core/preprocessing/declaration";
import { say } from "../../../i18n";
import { number } from "../../../i18n/formatting";
import { requireElement, setText } from "../../lib/dom";
import type { Collector } from "../collect/collector-api";
import { offerCollector } from "../collect/offer";
import { decodeRecordings } from "./decode-audio";
import { addFiles, fromDrop, fromInput } from "./file-selection";
import { previewNodes } from "./preview";
import { bindStorageChoice } from "./storage-choice";
import { acceptedTypes, folderClasses, problemTitle, requiredData, summary } from "./texts";

/** What the training page needs of examples that do not come from the server. */
export interface OwnExamples {
  /** The number of own training examples; 0 while they cannot be used, null if the server assigns them. */
  readonly examples: number | null;
  /** Whether the examples are ready. */
  readonly ready: boolean;
  /** Whether they are being fetched. */
  readonly busy: boolean;
  /** Fetches them; returns whether they are ready then. */
  prepare(): Promise<boolean>;
  /** Starts a training worker that can request them. */
  spawn(): Worker;
  /** Prevents other files from being chosen during training. */
  lock(training: boolean): void;
}

/**
 * Reads own files. Owns the reader and the list of chosen files; calls `changed` whenever `examples` may have
 * changed.
 */
class OwnFiles implements OwnExamples {
  readonly #reader = new DataReaderWorker();
  readonly #keeping: ReturnType<typeof bindStorageChoice>;
  #files: readonly OwnFile[] = [];
  #report: Report | null = null;
  #data: DataSpec | null = null;
  /** Resolves once the requirements are known, or cannot be fetched. */
  readonly #opened: Promise<void>;
  #training = false;
  #collector: Collector | null = null;

  constructor(
    private readonly section: HTMLElement,
    private readonly changed: () => void,
  ) {
    const task = section.dataset.task ?? "";
    this.#keeping = bindStorageChoice(section, task, () => this.#files);
    this.#bindInputs();
    this.#bindDrop();
    this.#opened = this.#open(task);
  }

  get examples(): number {
    return this.#report?.missing === null ? this.#report.counts.train : 0;
  }

  spawn = (): Worker => {
    const worker = trainingWorker();
    if (this.#report !== null) this.#reader.serve(worker, this.#report.counts);
    return worker;
  };

  readonly busy = false;

  get ready(): boolean {
    return this.examples > 0;
  }

  async prepare(): Promise<boolean> {
    return this.ready;
  }

  lock(training: boolean): void {
    this.#training = training;
    this.#enable();
    this.#collector?.lock(training);
  }

  #enable(): void {
    const controls = this.section.querySelectorAll<HTMLInputElement>("input, select, button");
    for (const control of controls) control.disabled = this.#training || this.#data === null;
  }

  /** Fetches the task's requirements, then reads the files stored in an earlier session. */
  async #open(task: string): Promise<void> {
    try {
      const response = await fetch(`/api/tasks/${task}/data`);
      if (!response.ok) throw new Error(`status ${response.status}`);
      this.#data = (await response.json()) as DataSpec;
    } catch {
      this.#showLine(say.own.notFetched);
      return;
    }
    setText(requireElement(this.section, "own-wanted"), requiredData(this.#data));
    for (const input of this.#inputs) input.accept = acceptedTypes(this.#data.preprocess);
    this.#offerClasses(folderClasses(this.#data.preprocess));
    this.#collector = offerCollector(this.#data, {
      all: () => this.#files,
      add: (files) => this.#read(addFiles(this.#files, files, null)),
      remove: (path) => this.#read(this.#files.filter((one) => one.path !== path)),
    });
    this.#enable();
    const stored = await this.#keeping.storedFiles();
    if (stored.length > 0 && this.#files.length === 0) await this.#read(stored);
  }

  get #inputs(): HTMLInputElement[] {
    return [...this.section.querySelectorAll<HTMLInputElement>("input[type=file]")];
  }

  #offerClasses(classes: readonly string[]): void {
    const select = requireElement<HTMLSelectElement>(this.section, "own-class");
    for (const name of classes) select.append(new Option(name, name));
    requireElement(this.section, "own-classes").hidden = classes.length === 0;
  }

  #bindInputs(): void {
    for (const input of this.#inputs) {
      if ("ownFolder" in input.dataset)
        requireElement(this.section, "own-folders").hidden = !("webkitdirectory" in input);
      input.addEventListener("change", () => {
        const chosen = fromInput(input.files ?? []);
        // The same files can be chosen again, for another class.
        input.value = "";
        void this.#add(chosen);
      });
    }
    requireElement(this.section, "own-clear").addEventListener("click", () => void this.#read([]));
  }

  #bindDrop(): void {
    const area = requireElement(this.section, "own-drop");
    const over = (isOver: boolean) => area.classList.toggle("over", isOver && !this.#training);
    // A file dropped beside the area would replace the page.
    for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
    area.addEventListener("dragover", () => over(true));
    area.addEventListener("dragleave", () => over(false));
    area.addEventListener("drop", (event) => {
      over(false);
      const { dataTransfer } = event;
      if (dataTransfer === null || this.#training) return;
      fromDrop(dataTransfer).then(
        (dropped) => this.#add(dropped),
        () => this.#showLine(say.own.notDropped),
      );
    });
  }

  async #add(added: readonly OwnFile[]): Promise<void> {
    if (added.length === 0) return;
    const folder = requireElement<HTMLSelectElement>(this.section, "own-class").value;
    await this.#opened;
    if (this.#data === null) return;
    const decoded = await decodeRecordings(this.#data.preprocess, added);
    await this.#read(addFiles(this.#files, decoded, folder === "" ? null : folder));
  }

  async #read(files: readonly OwnFile[]): Promise<void> {
    if (this.#data === null) return;
    this.#files = files;
    this.#collector?.show();
    this.#report = null;
    this.changed();
    const bar = requireElement<HTMLProgressElement>(this.section, "own-progress");
    bar.hidden = files.length === 0;
    bar.value = 0;
    try {
      const report = await this.#reader.read(this.#data, files, (done, total) => {
        [bar.value, bar.max] = [done, total];
        this.#showLine(say.own.reading(done, total));
      });
      if (report === null) return;
      this.#report = report;
      this.#show(report);
      await this.#keeping.changed();
    } catch (error) {
      this.#showLine(say.problem(error));
    }
    bar.hidden = true;
    this.changed();
  }

  #showLine(line: string): void {
    setText(requireElement(this.section, "own-line"), line);
  }

  #show(report: Report): void {
    const none = this.#files.length === 0;
    const kind = (this.#data as DataSpec).preprocess.kind;
    this.#showLine(none ? say.own.nothing : summary(report, kind));
    requireElement(this.section, "own-line").classList.toggle("lacking", !none && report.missing !== null);
    requireElement(this.section, "own-found").hidden = none;
    requireElement(this.section, "own-problems").hidden = report.problemCount === 0;
    setText(requireElement(this.section, "own-problem-title"), problemTitle(report));
    requireElement(this.section, "own-problem-list").replaceChildren(...report.problems.map(problemItem));
    requireElement(this.section, "own-counts").replaceChildren(...(report.classes ?? []).map(countItem));
    requireElement(this.section, "own-preview").replaceChildren(...previewNodes(report.preview));
  }
}

function problemItem({ where, text }: Report["problems"][number]): HTMLLIElement {
  const item = document.createElement("li");
  const place = document.createElement("strong");
  place.textContent = say.message(where);
  item.append(place, `: ${say.message(text)}`);
  return item;
}

function countItem({ name, count }: NonNullable<Report["classes"]>[number]): HTMLLIElement {
  const item = document.createElement("li");
  item.className = count > 0 ? "chip" : "chip none";
  const many = document.createElement("strong");
  many.textContent = number(count);
  item.append(`${name}: `, many);
  return item;
}

/** Binds the section. */
export function bindLocalData(section: HTMLElement, changed: () => void): OwnExamples {
  return new OwnFiles(section, changed);
}
