/** Offers to collect examples where that fits the task; fetches the rest of its script only when it is wanted. */

import type { DataSpec } from "../../../core/preprocessing/declaration";
import { requireElement } from "../../lib/dom";
import type { Collector, CollectorFiles } from "./collector-api";

/** Whether examples of the task can be collected on a page: pictures and recordings with a class, and texts. */
export function canCollect({ preprocess }: DataSpec): boolean {
  if (preprocess.kind === "image" || preprocess.kind === "audio") return preprocess.label.kind === "class";
  return preprocess.kind === "text" && preprocess.label?.kind !== "number";
}

/** Shows the offer on the page, if it has one and it fits. */
export function offerCollector(data: DataSpec, files: CollectorFiles): Collector {
  const card = document.querySelector<HTMLElement>("[data-collect]");
  let opened: Collector | null = null;
  let training = false;
  if (card && canCollect(data)) {
    const button = requireElement<HTMLButtonElement>(card, "collect-open");
    button.addEventListener("click", async () => {
      button.disabled = true;
      const { openCollector } = await import("./collector");
      button.hidden = true;
      opened = openCollector(card, data, files);
      opened.lock(training);
    });
    card.hidden = false;
  }
  return {
    show: () => opened?.show(),
    lock(now) {
      training = now;
      opened?.lock(now);
    },
  };
}
