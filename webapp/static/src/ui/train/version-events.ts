/** Handles new versions on the pages of tasks with rounds. */

import type { MistakeFindings } from "../../core/data/mistakes";
import type { ServerToPeer } from "../../protocol/wire/mesh";
import type { ServerFrame } from "../../protocol/wire/messages";
import { bindMistakes } from "./mistakes/card";
import type { TrainingPage } from "./training-page";

/** Refreshes the page's figures, and shows the newest version's mistakes, as `examine` returns them. */
export function versionListener(
  { root, refresh }: TrainingPage,
  examine: (weights: string) => Promise<MistakeFindings | null>,
): (frame: ServerFrame | ServerToPeer) => void {
  const mistaken = bindMistakes(root, examine);
  return (frame) => {
    if (frame.type === "version" || frame.type === "evaluated") void refresh();
    if (frame.type === "version") mistaken(frame);
  };
}
