/** What pages of tasks with rounds do when their server tells of a version. */

import type { MistakeFindings } from "../../core/data/mistakes";
import type { ServerToPeer } from "../../protocol/wire/mesh";
import type { ServerFrame } from "../../protocol/wire/messages";
import { bindMistakes } from "./mistakes/card";
import type { TrainingPage } from "./training-page";

/** Keeps the page's figures fresh, and shows where the newest version is wrong, by what `examine` finds. */
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
