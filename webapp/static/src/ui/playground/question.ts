/** What each way of asking has in common. */

import type { Question } from "../../core/messages/playground";

export interface Questions {
  /** Has the model answer. */
  readonly ask: (question: Question) => void;
  /** The question is taken back. */
  readonly forget: () => void;
  /** Why there is no question, for people. */
  readonly complain: (problem: string) => void;
}
