/** The tools of the collector for tasks that read recordings: the microphone and its button. */

import type { AudioSpec } from "../../../core/preprocessing/declaration";
import { collect } from "../../../i18n/texts/volunteers/data/collect";
import { requireElement, setText } from "../../lib/dom";
import { bindHold } from "./hold";
import { Microphone } from "./microphone";

/** What the tools need of the collector's card. */
export interface SoundOwner {
  readonly card: HTMLElement;
  readonly isTraining: () => boolean;
  readonly add: (recordings: readonly Blob[]) => Promise<void>;
  readonly say: (line: string) => void;
}

/** Owns the microphone. */
export class SoundTools {
  readonly #microphone: Microphone;

  constructor(
    private readonly owner: SoundOwner,
    { rate, seconds }: AudioSpec,
  ) {
    this.#microphone = new Microphone(rate, seconds);
    this.#part("collect-sounds").hidden = false;
    this.#part("collect-microphone-on").addEventListener("click", () => void this.#turnOn());
    this.#part("collect-microphone-off").addEventListener("click", () => this.turnOff());
    bindHold(
      this.#part("collect-record"),
      (taken) => this.#recording(taken + 1),
      (recordings) => owner.add(recordings),
    );
  }

  turnOff(): void {
    this.#microphone.stop();
    this.#show();
  }

  async #turnOn(): Promise<void> {
    this.#complain("");
    try {
      await this.#microphone.start();
    } catch (error) {
      this.#complain(error instanceof Error ? error.message : collect.microphone.broken);
    }
    // The training may have started while the browser asked for permission.
    if (this.owner.isTraining()) this.#microphone.stop();
    this.#show();
  }

  async #recording(number: number): Promise<Blob | null> {
    this.#complain("");
    this.owner.say(collect.microphone.recording(number));
    try {
      return await this.#microphone.recording();
    } catch {
      this.#complain(collect.microphone.unreadable);
      return null;
    } finally {
      this.owner.say("");
    }
  }

  #show(): void {
    const { on } = this.#microphone;
    for (const name of ["collect-record", "collect-microphone-off"]) this.#part(name).hidden = !on;
    this.#part("collect-microphone-on").hidden = on;
  }

  #complain(problem: string): void {
    setText(this.#part("collect-sound-problem"), problem);
  }

  #part(name: string): HTMLElement {
    return requireElement(this.owner.card, name);
  }
}
