/** Shows lines of a draft's checklist as marks and sentences. */

import { say } from "../../../i18n/texts/owners/checks";
import type { ChecklistItem, DraftRecord } from "../record";

type CheckedDraft = Pick<DraftRecord, "id" | "checklist">;

/** Shows the items of the checklist that pass `filter`; with `links`, each links to its step. */
export function showChecks(
  list: HTMLElement,
  draft: CheckedDraft,
  filter: (item: ChecklistItem) => boolean,
  links = false,
): void {
  list.replaceChildren(...draft.checklist.filter(filter).map((item) => line(item, draft, links)));
}

function line(item: ChecklistItem, draft: CheckedDraft, links: boolean): HTMLLIElement {
  const result = document.createElement("li");
  result.dataset.state = item.state;
  result.dataset.check = item.key;
  const mark = document.createElement("span");
  mark.className = "mark";
  mark.ariaHidden = "true";
  const text = document.createElement("span");
  const state = document.createElement("span");
  state.className = "hidden";
  state.append(`${say.states[item.state]}: `);
  text.append(state, item.text);
  if (!item.for_test && item.state !== "done") text.append(" ", say.notForTest);
  if (links && item.state !== "done" && item.step !== "review") text.append(" ", link(item, draft));
  result.append(mark, text);
  return result;
}

function link(item: ChecklistItem, draft: CheckedDraft): HTMLAnchorElement {
  const result = document.createElement("a");
  result.href = `/drafts/${draft.id}/${item.step}`;
  result.append(say.go(say.steps[item.step]));
  return result;
}
