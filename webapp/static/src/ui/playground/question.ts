/** The callbacks that all forms of questions share. */

import type { PlaygroundQuestion } from "../../core/messages/playground";

export interface QuestionForm {
  /** Asks the model. */
  readonly ask: (question: PlaygroundQuestion) => void;
  /** Withdraws the question. */
  readonly forget: () => void;
  /** Shows why there is no question, for people. */
  readonly complain: (problem: string) => void;
}
