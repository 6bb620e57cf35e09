/** Starter models: an owner without a model chooses one, which the server builds for the data. */

import { say } from "../../i18n/texts/owners/starters";
import { requestJson, showRefusal } from "../lib/api";
import { requireElement, setText } from "../lib/dom";
import type { DraftFrame } from "./frame";
import { bindJobView } from "./job-view";
import type { DraftRecord, OfferedStarter } from "./record";

export function bindStarters(frame: DraftFrame): void {
  const root = requireElement(document, "starters");
  bindJobView(frame, "build", (draft) => draft.starter !== null && !waitsForData(draft));
  for (const button of root.querySelectorAll<HTMLButtonElement>("[data-choose-starter]")) {
    button.addEventListener("click", () => void choose(frame, button));
  }
  const show = (draft: DraftRecord) => {
    for (const one of draft.starters) {
      const row = root.querySelector<HTMLElement>(`[data-starter="${one.name}"]`);
      if (row) showRow(row, one);
    }
    requireElement(root, "starter-waits").hidden = !waitsForData(draft);
  };
  frame.onChange(show);
  show(frame.draft());
}

function waitsForData({ checklist }: DraftRecord): boolean {
  return checklist.some(({ key }) => key === "starter");
}

function showRow(row: HTMLElement, { chosen, parameters }: OfferedStarter): void {
  requireElement<HTMLButtonElement>(row, "choose-starter").disabled = chosen;
  setText(requireElement(row, "starter-use"), chosen ? say.chosen : say.use);
  setText(requireElement(row, "starter-size"), parameters === null ? "" : say.parameters(parameters));
}

async function choose(frame: DraftFrame, button: HTMLButtonElement): Promise<void> {
  const { files } = frame.draft();
  if (files.model && !confirm(say.replace(files.model.name))) return;
  await showRefusal(requireElement(document, "problem"), async () => {
    await requestJson("POST", `${frame.address}/starter`, { starter: button.dataset.chooseStarter });
    await frame.refresh();
  });
}
