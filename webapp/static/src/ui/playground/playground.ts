/** "Try the model": people show it an example, and it says what it makes of it. */

import type { Answer, Written } from "../../client/workers/playground-worker";
import type { Made } from "../../client/workers/training-worker";
import type { Prompt, Question } from "../../core/messages/playground";
import { say } from "../../i18n";
import { part, write } from "../lib/dom";
import { bars, showAnswers, written } from "./answers";
import { bindDrawing } from "./drawing";
import { bindForm, type FormKind } from "./form";
import { onlyNewest } from "./latest-job";
import { bindPicture } from "./picture";
import { bindPrompt } from "./prompt";
import { compared, guessed, leftOut, type Naming, rowsOf } from "./texts";
import { type Named, versionsOf } from "./versions";
import { type Tried, trying } from "./worker";

/** Owns the section: its worker, the question that was asked last, and what this device made. */
class Trial {
  readonly #tried: () => Promise<Tried>;
  readonly #first: string;
  #showPicture: ReturnType<typeof bindPicture> = () => undefined;
  #question: Question | null = null;
  #made: Made | null = null;
  /** Counts questions: an answer to an earlier one is not shown. */
  #asked = 0;
  /**
   * Asks the question in hand: when there is another, and when this device learned. One that trains faster than it
   * answers shows what it last heard, and does not fall ever farther behind.
   */
  readonly #answer = onlyNewest(() => this.#answerOnce());

  constructor(private readonly section: HTMLElement) {
    const { task = "", bundle = "", trial = "" } = section.dataset;
    this.#tried = trying(task, bundle.split("/").pop() ?? "");
    this.#first = part(section, "guess").textContent ?? "";
    this.#bind(trial);
    part(section, "board").hidden = false;
  }

  /** This device trained: from now on the version before and the one after answer. */
  readonly made = (made: Made): void => {
    this.#made = made;
    void this.#answer();
  };

  #bind(kind: string): void {
    const questions = {
      ask: (question: Question) => this.#ask(question),
      forget: () => this.#forget(),
      complain: (problem: string) => this.#say(problem),
    };
    if (kind === "draw") bindDrawing(this.section, questions);
    else if (kind === "picture") this.#showPicture = bindPicture(this.section, questions);
    else if (kind === "prompt") {
      bindPrompt(this.section, { write: (prompt) => this.#write(prompt), stop: () => void this.#stop() });
    } else bindForm(this.section, kind as FormKind, questions);
  }

  #ask(question: Question): void {
    this.#question = question;
    this.#begin(say.trial.looking);
    void this.#answer();
  }

  async #answerOnce(): Promise<void> {
    const [mine, question] = [this.#asked, this.#question];
    if (question === null) return;
    try {
      const { asker, naming } = await this.#tried();
      const versions = versionsOf(this.section, this.#made);
      const answer = await asker.ask(versions.map(bare), question);
      if (mine === this.#asked) this.#show(answer, versions, naming);
    } catch (problem) {
      if (mine === this.#asked) this.#say(sentence(problem));
    }
  }

  async #write(prompt: Prompt): Promise<void> {
    const mine = this.#begin(say.trial.reading);
    try {
      const { asker } = await this.#tried();
      const versions = versionsOf(this.section, this.#made);
      const told = (soFar: Written) => {
        if (mine === this.#asked) this.#showWritten(prompt, soFar, versions);
      };
      this.#say(say.trial.writing);
      told(await asker.write(versions.map(bare), prompt, told));
      this.#say(say.trial.written);
    } catch (problem) {
      this.#say(sentence(problem));
    }
  }

  async #stop(): Promise<void> {
    (await this.#tried()).asker.stop();
  }

  #begin(line: string): number {
    this.#asked += 1;
    this.#say(line);
    return this.#asked;
  }

  #forget(): void {
    this.#question = null;
    this.#begin(this.#first);
    showAnswers(part(this.section, "answers"), []);
  }

  #say(line: string): void {
    write(part(this.section, "guess"), line);
  }

  #show({ outputs, picture, lacking }: Answer, versions: readonly Named[], naming: Naming): void {
    const columns = outputs.map((output, i) => {
      const rows = rowsOf(output, naming);
      return { rows, title: versions[i]?.title ?? null, body: bars(rows) };
    });
    const [one, other] = columns;
    if (one) this.#say(other ? compared(one.rows, other.rows) : guessed(one.rows));
    this.#leave(lacking);
    this.#showPicture(picture);
    showAnswers(part(this.section, "answers"), columns);
  }

  #showWritten({ text }: Prompt, { texts, lacking }: Written, versions: readonly Named[]): void {
    this.#leave(lacking);
    const columns = texts.map((own, i) => ({ title: versions[i]?.title ?? null, body: written(text, own) }));
    showAnswers(part(this.section, "answers"), columns);
  }

  #leave(lacking: readonly string[]): void {
    const line = leftOut(lacking);
    part(this.section, "lacking").hidden = line === "";
    write(part(this.section, "lacking"), line);
  }
}

function bare({ weights, update }: Named) {
  return { weights, update };
}

function sentence(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}

/** Brings the section of a page to life; the function returned is told what this device trained. Null without one. */
export function bindTrial(): ((made: Made) => void) | null {
  const section = document.querySelector<HTMLElement>("[data-trial]");
  return section && new Trial(section).made;
}
