/** The wizard's step `data`: the source of the data, the file, and the findings in it. */

import { say } from "../../../i18n/texts/owners/data";
import { requireElement, setText } from "../../lib/dom";
import { bindOwnData } from "../data/local-data";
import { bindAddress } from "../data/url-data";
import type { DraftFrame } from "../frame";
import { bindJobView } from "../job-view";
import { type DraftJob, type DraftRecord, isTable, tableAt } from "../record";
import { bindUpload } from "../upload/upload";

export function mount(frame: DraftFrame): void {
  bindSource(frame);
  bindOwnData(frame);
  bindAddress(frame);
  bindUpload(frame, "data");
  bindJobView(frame, "look", ({ files }) => files.data !== undefined, foundWords);
  frame.onChange(showFound);
  showFound(frame.draft());
}

function bindSource(frame: DraftFrame): void {
  const choices = [...document.querySelectorAll<HTMLInputElement>("[data-sources] input")];
  const show = (draft: DraftRecord) => {
    const source = tableAt(draft.task, "data").source;
    for (const choice of choices) choice.checked = choice.value === source;
    showSource(String(source));
  };
  for (const choice of choices) {
    choice.disabled = false;
    choice.addEventListener("change", () => {
      showSource(choice.value);
      // Settings of another source would not fit this one.
      const others = Object.fromEntries(
        ["volunteer", "url"].filter((one) => one !== choice.value).map((one) => [one, null]),
      );
      void frame.save({ task: { data: { ...others, source: choice.value } } });
    });
  }
  frame.onChange(show);
  show(frame.draft());
}

function showSource(source: string): void {
  for (const place of document.querySelectorAll<HTMLElement>("[data-source-of]")) {
    place.hidden = place.dataset.sourceOf !== source;
  }
  // For volunteers' data a sample determines how they are read.
  setText(requireElement(document, "bring-title"), source === "volunteer" ? say.sample : say.bring);
}

/** Returns the findings in a sentence. */
function foundWords({ result }: DraftJob): string {
  const { kind, examples, classes, columns } = result ?? {};
  const names = isTable(classes) ? Object.keys(classes) : [];
  return say.found(String(kind), Number(examples), names, Array.isArray(columns) ? columns.length : 0);
}

/** Shows further findings. */
function showFound({ jobs, task }: DraftRecord): void {
  const result = jobs.look?.state === "done" ? jobs.look.result : null;
  requireElement(document, "found").hidden = result === null;
  const sentences = Array.isArray(result?.notes) ? result.notes.map(String) : [];
  requireElement(document, "found-notes").replaceChildren(
    ...sentences.map((text) => {
      const line = document.createElement("li");
      line.textContent = text;
      return line;
    }),
  );
  setText(requireElement(document, "found-next"), tableAt(task, "data").preprocess ? say.next : "");
}
