/**
 * The card of the newest version's mistakes: updated for each version, but rarely enough to leave training its time.
 */

import type { MistakeFindings } from "../../../core/data/mistakes";
import type { DataSpec } from "../../../core/preprocessing/declaration";
import { say } from "../../../i18n";
import { number } from "../../../i18n/formatting";
import { requireElement, setText } from "../../lib/dom";
import { fetchJson } from "../../lib/responses";
import { MATRIX_CLASSES } from "./confusion";
import { mistakeItem, tableRows } from "./nodes";
import { RateLimit } from "./rate-limit";
import { namesOf, sampler } from "./samples";
import { summaryOf } from "./texts";

export interface MistakesVersion {
  readonly version: number;
  readonly weights: string;
}

/** The number of mistakes that are listed if they are no pictures. */
const LINES = 5;

type ExamineVersion = (weights: string) => Promise<MistakeFindings | null>;

/** The card. */
class Mistakes {
  readonly #pace = new RateLimit();
  #next: MistakesVersion | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #data: Promise<DataSpec["preprocess"] | null> | null = null;

  constructor(
    private readonly card: HTMLElement,
    private readonly ask: ExamineVersion,
  ) {}

  /** Takes a new version; of several only the newest is evaluated. */
  readonly made = (version: MistakesVersion): void => {
    this.#next = version;
    this.#timer ??= setTimeout(() => void this.#evaluate(), this.#pace.wait(performance.now()));
  };

  async #evaluate(): Promise<void> {
    const next = this.#next;
    this.#next = null;
    if (next !== null && document.visibilityState === "visible") {
      const begin = performance.now();
      const findings = await this.ask(next.weights);
      this.#pace.record(begin, performance.now());
      if (findings !== null) await this.#show(findings, next.version);
    }
    this.#timer = undefined;
    if (this.#next !== null) this.made(this.#next);
  }

  async #show(findings: MistakeFindings, version: number): Promise<void> {
    const { card } = this;
    this.#data ??= preprocessOf(card.dataset.task ?? "");
    const preprocess = await this.#data;
    const name = namesOf(preprocess, JSON.parse(card.dataset.labels ?? "[]"));
    const sample = sampler(preprocess);
    const samples = findings.mistakes.map((mistake) => ({
      mistake,
      shown: sample(mistake, findings.shapes),
    }));
    // Rows and texts take a whole line each.
    const fit = samples.filter(({ shown }, place) => place < LINES || shown.kind === "picture");
    const items = fit.map(({ mistake, shown }) => mistakeItem(mistake, shown, name));
    setText(requireElement(card, "mistakes-line"), summaryOf(findings, version));
    setText(
      requireElement(card, "mistakes-confused"),
      findings.classes > MATRIX_CLASSES ? say.mistakes.often : say.mistakes.matrix,
    );
    requireElement(card, "mistakes-table").replaceChildren(...tableRows(findings, name));
    requireElement(card, "mistakes-list").replaceChildren(...items);
    requireElement(card, "mistakes-none").hidden = items.length > 0;
    card.dataset.version = number(version);
    card.hidden = false;
  }
}

/** Returns the preprocessing of the task's data; null if there is none or it cannot be fetched. */
async function preprocessOf(task: string): Promise<DataSpec["preprocess"] | null> {
  const answer = await fetchJson<{ readonly preprocess: DataSpec["preprocess"] | null }>(
    `/api/tasks/${task}/data`,
  );
  return answer?.preprocess ?? null;
}

/** Binds the card; returns a function that takes each new version. */
export function bindMistakes(root: ParentNode, ask: ExamineVersion): (version: MistakesVersion) => void {
  return new Mistakes(requireElement(root, "mistakes"), ask).made;
}
