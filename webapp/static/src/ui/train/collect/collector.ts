/** Collects examples on the training page: by camera, drawing, microphone and typing. Nothing is sent. */

import type { OwnFile } from "../../../core/messages/data-reader";
import type { AudioSpec, DataSpec, ImageSpec, TextSpec } from "../../../core/preprocessing/declaration";
import { collect } from "../../../i18n/texts/volunteers/data/collect";
import { requireElement, setText } from "../../lib/dom";
import { Camera } from "./camera";
import type { Collector, CollectorFiles } from "./collector-api";
import { DrawingPad } from "./drawing";
import { nextNumber, pictureFile, soundFile, textFile } from "./example-files";
import { bindHold } from "./hold";
import { ReviewGrid } from "./review";
import { SoundTools } from "./sound-tools";

/** Opens the tools that fit the task. */
export function openCollector(card: HTMLElement, data: DataSpec, files: CollectorFiles): Collector {
  return new CollectorCard(card, data, files);
}

/** Owns the card: its tools, the camera, and the grid of what was collected. */
class CollectorCard implements Collector {
  readonly #grid: ReviewGrid;
  #camera: Camera | null = null;
  #sounds: SoundTools | null = null;
  #training = false;

  constructor(
    private readonly card: HTMLElement,
    { preprocess }: DataSpec,
    private readonly files: CollectorFiles,
  ) {
    this.#grid = new ReviewGrid(
      requireElement(card, "collect-grid"),
      (path) => void files.remove(path),
      preprocess.kind === "audio" ? preprocess : null,
    );
    if (preprocess.kind !== "table" && preprocess.kind !== "array") this.#offerClasses(preprocess);
    if (preprocess.kind === "image") this.#bindPictures(preprocess);
    if (preprocess.kind === "audio") this.#bindSounds(preprocess);
    if (preprocess.kind === "text") this.#bindTexts(preprocess);
    // A page that is left, or hidden, sees and hears nothing.
    document.addEventListener("visibilitychange", () => document.hidden && this.#turnOff());
    requireElement(card, "collect-tools").hidden = false;
    this.show();
  }

  show(): void {
    this.#grid.show(this.files.all());
  }

  lock(training: boolean): void {
    this.#training = training;
    if (training) this.#turnOff();
    const controls = this.card.querySelectorAll<HTMLButtonElement>("button, select, textarea");
    for (const control of controls) control.disabled = training;
  }

  get #class(): string {
    return requireElement<HTMLSelectElement>(this.card, "collect-class").value;
  }

  #offerClasses({ label }: ImageSpec | AudioSpec | TextSpec): void {
    const classes = label?.kind === "class" ? label.classes : [];
    requireElement(this.card, "collect-class").append(...classes.map((name) => new Option(name, name)));
    requireElement(this.card, "collect-classes").hidden = classes.length === 0;
  }

  #bindPictures(rule: ImageSpec): void {
    requireElement(this.card, "collect-pictures").hidden = false;
    const camera = new Camera(requireElement<HTMLVideoElement>(this.card, "collect-video"));
    this.#camera = camera;
    this.#on("collect-on", () => this.#turnOn(camera));
    this.#on("collect-off", async () => this.#turnOff());
    bindHold(
      requireElement(this.card, "collect-shoot"),
      () => camera.picture(),
      (shots) => this.#add(shots, pictureFile),
    );
    const pad = new DrawingPad(requireElement<HTMLCanvasElement>(this.card, "collect-canvas"), rule);
    this.#on("collect-wipe", async () => pad.wipe());
    this.#on("collect-drawn", async () => {
      const drawn = await pad.picture();
      if (drawn === null) return this.#say(collect.nothingDrawn);
      pad.wipe();
      await this.#add([drawn], pictureFile);
    });
  }

  #bindSounds(rule: AudioSpec): void {
    this.#sounds = new SoundTools(
      {
        card: this.card,
        isTraining: () => this.#training,
        add: (recordings) => this.#add(recordings, soundFile),
        say: (line) => this.#say(line),
      },
      rule,
    );
  }

  #bindTexts(rule: TextSpec): void {
    requireElement(this.card, "collect-texts").hidden = false;
    const field = requireElement<HTMLTextAreaElement>(this.card, "collect-text");
    this.#on("collect-typed", async () => {
      const text = field.value.trim();
      if (text === "") return this.#say(collect.nothingTyped);
      await this.files.add([textFile(rule, text, this.#class, nextNumber(this.files.all()))]);
      this.#say(collect.added(1, rule.label === null ? null : this.#class));
      field.value = "";
      field.focus();
    });
  }

  #on(name: string, act: () => Promise<void>): void {
    requireElement(this.card, name).addEventListener("click", () => void act());
  }

  async #turnOn(camera: Camera): Promise<void> {
    this.#complain("");
    try {
      await camera.start();
    } catch (error) {
      camera.stop();
      this.#complain(error instanceof Error ? error.message : collect.broken);
    }
    // The training may have started while the browser asked for permission.
    if (this.#training) camera.stop();
    this.#showCamera();
  }

  #turnOff(): void {
    this.#sounds?.turnOff();
    this.#camera?.stop();
    this.#showCamera();
  }

  #showCamera(): void {
    const on = this.#camera?.on ?? false;
    for (const name of ["collect-video", "collect-shoot", "collect-off"]) {
      requireElement(this.card, name).hidden = !on;
    }
    requireElement(this.card, "collect-on").hidden = on;
  }

  async #add(
    parts: readonly Blob[],
    fileOf: (part: Blob, name: string, number: number) => OwnFile,
  ): Promise<void> {
    if (this.#training || parts.length === 0) return;
    const first = nextNumber(this.files.all());
    const name = this.#class;
    await this.files.add(parts.map((part, index) => fileOf(part, name, first + index)));
    this.#say(collect.added(parts.length, name));
  }

  #say(line: string): void {
    setText(requireElement(this.card, "collect-line"), line);
  }

  #complain(problem: string): void {
    setText(requireElement(this.card, "collect-problem"), problem);
  }
}
