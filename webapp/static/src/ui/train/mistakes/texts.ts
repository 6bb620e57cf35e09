/** The texts on a version's answers. Pure. */

import type { MistakeFindings } from "../../../core/data/mistakes";
import { say } from "../../../i18n";

/** Returns the sentence on the answers of version `version`, and the examples used. */
export function summaryOf(
  { about, examples, answers, right }: Pick<MistakeFindings, "about" | "examples" | "answers" | "right">,
  version: number,
): string {
  const what =
    answers === examples
      ? say.mistakes.right(version, right, examples)
      : say.mistakes.share(version, right / Math.max(answers, 1), examples);
  return `${what} ${say.mistakes.about[about]}`;
}
