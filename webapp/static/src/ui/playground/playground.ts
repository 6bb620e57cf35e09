/** The playground ("Try the model"): a person enters an example, and the model's answer is shown. */

import type { QuestionAnswer, Written } from "../../client/workers/playground-worker";
import type { Made } from "../../client/workers/training-worker";
import type { PlaygroundQuestion, Prompt } from "../../core/messages/playground";
import { say } from "../../i18n";
import { requireElement, setText } from "../lib/dom";
import { bars, showAnswers, writtenText } from "./answers";
import { bindDrawing } from "./drawing";
import { bindForm, type FormKind } from "./form";
import { latestOnly } from "./latest-job";
import { bindPicture } from "./picture";
import { bindPrompt } from "./prompt";
import { type ClassNames, comparisonSentence, guessSentence, leftOutSentence, rowsOf } from "./texts";
import { type NamedVersion, versionsOf } from "./versions";
import { type PlaygroundResult, playgroundOpener } from "./worker";

/** The playground's section. Owns its worker, the last question, and this device's last update. */
class Playground {
  readonly #openWorker: () => Promise<PlaygroundResult>;
  readonly #first: string;
  #showPicture: ReturnType<typeof bindPicture> = () => undefined;
  #question: PlaygroundQuestion | null = null;
  #made: Made | null = null;
  /** The number of questions: the answer to an earlier one is not shown. */
  #asked = 0;
  /**
   * Answers the current question: when it is new, and when this device has learned. If training is faster than
   * answering, only the newest update is shown, so that no queue forms.
   */
  readonly #answer = latestOnly(() => this.#answerOnce());

  constructor(private readonly section: HTMLElement) {
    const { task = "", bundle = "", trial = "" } = section.dataset;
    this.#openWorker = playgroundOpener(task, bundle.split("/").pop() ?? "");
    this.#first = requireElement(section, "guess").textContent ?? "";
    this.#bind(trial);
    requireElement(section, "board").hidden = false;
  }

  /** Takes this device's update: from now on the version before it and the one after it answer. */
  readonly made = (made: Made): void => {
    this.#made = made;
    setText(requireElement(this.section, "asked"), say.trial.both);
    void this.#answer();
  };

  #bind(kind: string): void {
    const questions = {
      ask: (question: PlaygroundQuestion) => this.#ask(question),
      forget: () => this.#forget(),
      complain: (problem: string) => this.#showLine(problem),
    };
    if (kind === "draw") bindDrawing(this.section, questions);
    else if (kind === "picture") this.#showPicture = bindPicture(this.section, questions);
    else if (kind === "prompt") {
      bindPrompt(this.section, { write: (prompt) => this.#write(prompt), stop: () => void this.#stop() });
    } else bindForm(this.section, kind as FormKind, questions);
  }

  #ask(question: PlaygroundQuestion): void {
    this.#question = question;
    this.#begin(say.trial.looking);
    void this.#answer();
  }

  async #answerOnce(): Promise<void> {
    const [questionNumber, question] = [this.#asked, this.#question];
    if (question === null) return;
    try {
      const { worker, naming } = await this.#openWorker();
      const versions = versionsOf(this.section, this.#made);
      const answer = await worker.ask(versions.map(withoutQuery), question);
      if (questionNumber === this.#asked) this.#show(answer, versions, naming);
    } catch (problem) {
      if (questionNumber === this.#asked) this.#showLine(say.problem(problem));
    }
  }

  async #write(prompt: Prompt): Promise<void> {
    const questionNumber = this.#begin(say.trial.reading);
    try {
      const { worker } = await this.#openWorker();
      const versions = versionsOf(this.section, this.#made);
      const showProgress = (soFar: Written) => {
        if (questionNumber === this.#asked) this.#showWritten(prompt, soFar, versions);
      };
      this.#showLine(say.trial.writing);
      showProgress(await worker.write(versions.map(withoutQuery), prompt, showProgress));
      this.#showLine(say.trial.written);
    } catch (problem) {
      this.#showLine(say.problem(problem));
    }
  }

  async #stop(): Promise<void> {
    (await this.#openWorker()).worker.stop();
  }

  #begin(line: string): number {
    this.#asked += 1;
    this.#showLine(line);
    return this.#asked;
  }

  #forget(): void {
    this.#question = null;
    this.#begin(this.#first);
    showAnswers(requireElement(this.section, "answers"), []);
  }

  #showLine(line: string): void {
    setText(requireElement(this.section, "guess"), line);
  }

  #show(
    { outputs, picture, lacking }: QuestionAnswer,
    versions: readonly NamedVersion[],
    naming: ClassNames,
  ): void {
    const columns = outputs.map((output, i) => {
      const rows = rowsOf(output, naming);
      return { rows, title: versions[i]?.title ?? null, body: bars(rows) };
    });
    const [one, other] = columns;
    if (one) this.#showLine(other ? comparisonSentence(one.rows, other.rows) : guessSentence(one.rows));
    this.#leave(lacking);
    this.#showPicture(picture);
    showAnswers(requireElement(this.section, "answers"), columns);
  }

  #showWritten({ text }: Prompt, { texts, lacking }: Written, versions: readonly NamedVersion[]): void {
    this.#leave(lacking);
    const columns = texts.map((own, i) => ({
      title: versions[i]?.title ?? null,
      body: writtenText(text, own),
    }));
    showAnswers(requireElement(this.section, "answers"), columns);
  }

  #leave(lacking: readonly string[]): void {
    const line = leftOutSentence(lacking);
    requireElement(this.section, "lacking").hidden = line === "";
    setText(requireElement(this.section, "lacking"), line);
  }
}

function withoutQuery({ weights, update }: NamedVersion) {
  return { weights, update };
}

/** Binds the section of a page; returns a function that takes what this device trained, or null without a section. */
export function bindPlayground(): ((made: Made) => void) | null {
  const section = document.querySelector<HTMLElement>("[data-trial]");
  return section && new Playground(section).made;
}
