/** The control card: volunteers start and stop, and see what their device does; the same on every training page. */

import type { LoadedWorker } from "../../client/workers/training-worker";
import type { Backend } from "../../core/backend";
import { say } from "../../i18n";
import { milliseconds, number } from "../../i18n/formatting";
import { requireElement, setText } from "../lib/dom";
import { bindInvite } from "../task/invite";
import { backendChoice } from "./backend-choice";
import { bindLocalData, type OwnExamples } from "./local-data/local-data";
import { bindUrlData } from "./local-data/url-data";
import { LossCurve } from "./loss-curve";
import { INITIAL, type SteadyState, steady } from "./steady-status";
import { OVER, provingIn, type Status } from "./texts";
import { wakeLock } from "./wake-lock";

/** What the card shows of a session. */
export interface CardState {
  readonly status: Status;
  readonly running: boolean;
  /** Examples learned from so far. */
  readonly examples: number;
  readonly loaded: LoadedWorker | null;
  /** Milliseconds per step, once one was timed. */
  readonly stepMs: number | undefined;
  /** Why the training uses another setup than at first, for people; empty if it does not. */
  readonly notice: string;
}

/** The functions that the page provides for its card. */
export interface CardPage {
  /** Returns the card's data; the page draws its other parts at the same time. */
  readonly look: () => CardState;
  readonly start: (backend: Backend | null) => void;
  readonly stop: () => void;
  /** Stops as the page is closed, where that differs. */
  readonly leave?: () => void;
}

/**
 * The card. Owns the volunteer's own files, the invitation, the curve of the steps, the screen's lock and the title.
 */
export class ControlCard {
  /** The volunteer's own files, or downloaded ones, if the task trains on them. */
  readonly own: OwnExamples | null;
  readonly #root: HTMLElement;
  readonly #button: HTMLButtonElement;
  readonly #backend: () => Backend | null;
  readonly #learning: LossCurve;
  readonly #stayAwake: (active: boolean) => void;
  readonly #title = document.title;
  /** Whether the training was over when the page was opened. */
  readonly #over: boolean;
  #page: CardPage | null = null;
  #running = false;
  #proving = false;
  #scheduled = false;
  #steady: SteadyState = INITIAL;
  #later: ReturnType<typeof setTimeout> | undefined;

  constructor(root: HTMLElement) {
    this.#root = root;
    this.#button = requireElement<HTMLButtonElement>(root, "action");
    this.#over = requireElement(root, "status").dataset.phase === "finished";
    this.#backend = backendChoice(root);
    this.#learning = new LossCurve(root);
    this.#stayAwake = wakeLock((sentence) => this.#note("awake", sentence ?? ""));
    const section = root.querySelector<HTMLElement>("[data-own]");
    const elsewhere = root.querySelector<HTMLElement>("[data-url]");
    this.own = section
      ? bindLocalData(section, this.changed)
      : elsewhere && bindUrlData(elsewhere, this.changed);
    bindInvite();
  }

  /** Schedules a redraw, because data have changed. */
  readonly changed = (): void => {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // A timer and not an animation frame: hidden pages draw no frames, but their title must stay current.
    setTimeout(() => {
      this.#scheduled = false;
      this.#draw();
    }, 100);
  };

  /** Says what the device does while it proves work, before it connects. */
  proving(active: boolean): void {
    this.#proving = active;
    this.changed();
  }

  /** Adds the loss of a finished step. */
  learned(loss: number): void {
    this.#learning.add(loss);
  }

  /** Binds the button, and draws the card from now on. */
  bind(page: CardPage): void {
    this.#page = page;
    this.#button.addEventListener("click", () => {
      if (this.#running) page.stop();
      else void this.#start(page);
    });
    // Closing the page leaves the task immediately, so that no other client waits for this device.
    addEventListener("pagehide", page.leave ?? page.stop);
    // Countdowns change between events.
    setInterval(() => {
      if (this.#running) this.#draw();
    }, 1000);
    this.#draw();
  }

  async #start(page: CardPage): Promise<void> {
    const { own } = this;
    if (own && !own.ready && !(await own.prepare())) return;
    page.start(this.#backend());
  }

  #draw(): void {
    if (this.#page === null) return;
    const look = this.#page.look();
    const { running, examples, loaded, stepMs, notice } = look;
    this.#running = running;
    const current = this.#proving ? provingIn(look.status) : look.status;
    const status = this.#over ? OVER : this.#steadied(current);
    this.#showStatus(status);
    const finished = this.#over || look.status.phase === "finished";
    this.#button.dataset.action = running ? "stop" : "start";
    setText(this.#button, running ? say.card.stop : say.card.start);
    this.#button.disabled = !running && (this.own?.examples === 0 || this.own?.busy === true);
    this.#button.hidden = finished;
    this.own?.lock(running);
    this.#figure("examples", number(examples));
    this.#figure("backend", loaded ? say.figures.backend(loaded.backend) : "–");
    this.#figure("step-time", stepMs === undefined ? "–" : milliseconds(stepMs));
    this.#note("recovered", notice);
    this.#learning.show();
    this.#stayAwake(running && !finished);
    document.title = running ? `${status.spoken} · Minga` : this.#title;
  }

  /** Returns what is shown instead of a phase that may be over in a moment. */
  #steadied(status: Status): Status {
    const now = performance.now();
    this.#steady = steady(this.#steady, status, now);
    const { shown, due } = this.#steady;
    clearTimeout(this.#later);
    if (due !== null) this.#later = setTimeout(() => this.#draw(), due - now);
    return shown ?? status;
  }

  #showStatus({ phase, line, hint, spoken, steps }: Status): void {
    requireElement(this.#root, "status").dataset.phase = phase;
    this.#figure("status-line", line);
    this.#figure("status-hint", hint);
    this.#figure("status-spoken", spoken);
    const bar = requireElement<HTMLProgressElement>(this.#root, "progress");
    [bar.value, bar.max] = steps ?? [0, 1];
    bar.hidden = phase === "finished";
  }

  #figure(name: string, text: string): void {
    setText(requireElement(this.#root, name), text);
  }

  /** Sets a line that is hidden when it is empty. */
  #note(name: string, text: string): void {
    requireElement(this.#root, name).hidden = text === "";
    this.#figure(name, text);
  }
}
