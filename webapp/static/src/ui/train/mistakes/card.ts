/** The card that shows where the newest version is wrong: asked for at each version, but seldom enough to leave training its time. */

import type { Findings } from "../../../core/data/mistakes";
import type { DataSpec } from "../../../core/preprocessing/declaration";
import { say } from "../../../i18n";
import { number } from "../../../i18n/formatting";
import { part, write } from "../../lib/dom";
import { answeredJson } from "../../lib/responses";
import { MATRIX_CLASSES } from "./confusion";
import { mistakeItem, tableRows } from "./nodes";
import { Pace } from "./rate-limit";
import { namesOf, sampler } from "./samples";
import { summaryOf } from "./texts";

export interface Version {
  readonly version: number;
  readonly weights: string;
}

/** So many mistakes are listed where they are no pictures. */
const LINES = 5;

type Ask = (weights: string) => Promise<Findings | null>;

/** Owns the card. */
class Mistakes {
  readonly #pace = new Pace();
  #next: Version | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #data: Promise<DataSpec["preprocess"] | null> | null = null;

  constructor(
    private readonly card: HTMLElement,
    private readonly ask: Ask,
  ) {}

  /** There is a new version; of several only the newest is asked about. */
  readonly made = (version: Version): void => {
    this.#next = version;
    this.#timer ??= setTimeout(() => void this.#look(), this.#pace.wait(performance.now()));
  };

  async #look(): Promise<void> {
    const wanted = this.#next;
    this.#next = null;
    if (wanted !== null && document.visibilityState === "visible") {
      const begin = performance.now();
      const findings = await this.ask(wanted.weights);
      this.#pace.took(begin, performance.now());
      if (findings !== null) await this.#show(findings, wanted.version);
    }
    this.#timer = undefined;
    if (this.#next !== null) this.made(this.#next);
  }

  async #show(findings: Findings, version: number): Promise<void> {
    const { card } = this;
    this.#data ??= preprocessOf(card.dataset.task ?? "");
    const preprocess = await this.#data;
    const name = namesOf(preprocess, JSON.parse(card.dataset.labels ?? "[]"));
    const sample = sampler(preprocess);
    const samples = findings.mistakes.map((mistake) => ({
      mistake,
      shown: sample(mistake, findings.shapes),
    }));
    // Rows and texts take a line each.
    const fit = samples.filter(({ shown }, place) => place < LINES || shown.kind === "picture");
    const items = fit.map(({ mistake, shown }) => mistakeItem(mistake, shown, name));
    write(part(card, "mistakes-line"), summaryOf(findings, version));
    write(
      part(card, "mistakes-confused"),
      findings.classes > MATRIX_CLASSES ? say.mistakes.often : say.mistakes.matrix,
    );
    part(card, "mistakes-table").replaceChildren(...tableRows(findings, name));
    part(card, "mistakes-list").replaceChildren(...items);
    part(card, "mistakes-none").hidden = items.length > 0;
    card.dataset.version = number(version);
    card.hidden = false;
  }
}

/** How the task's data are read; null where it does not say, or cannot be asked. */
async function preprocessOf(task: string): Promise<DataSpec["preprocess"] | null> {
  const told = await answeredJson<{ readonly preprocess: DataSpec["preprocess"] | null }>(
    `/api/tasks/${task}/data`,
  );
  return told?.preprocess ?? null;
}

/** Brings the card to life; the function returned is to be told of each new version. */
export function bindMistakes(root: ParentNode, ask: Ask): (version: Version) => void {
  return new Mistakes(part(root, "mistakes"), ask).made;
}
