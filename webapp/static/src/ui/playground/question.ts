/** What each way of asking has in common. */

import type { PlaygroundQuestion } from "../../core/messages/playground";

export interface QuestionForm {
  /** Has the model answer. */
  readonly ask: (question: PlaygroundQuestion) => void;
  /** The question is taken back. */
  readonly forget: () => void;
  /** Why there is no question, for people. */
  readonly complain: (problem: string) => void;
}
