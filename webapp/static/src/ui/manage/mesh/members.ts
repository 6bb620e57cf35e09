/** The dashboard's part about members that check each other: fetched when something has changed. */

import { requestJson } from "../../lib/api";
import { requireElement, setChildren, setText } from "../../lib/dom";
import { tablePager } from "../../lib/pager";
import { pollAfterChange } from "../polling";
import { fillRows } from "../rows";
import type { TextRow } from "../tables";
import { type MeshAgreement, memberFigures, memberRows, membersStatus, shortKey } from "./member-rows";

/** The shortest interval, in milliseconds. */
const EVERY = 2000;

/** Shows the members, if the page has them; returns a function to call whenever something has changed. */
export function bindMembers(page: HTMLElement, task: string): () => void {
  const part = page.querySelector<HTMLElement>("[data-members]");
  if (part === null) return () => undefined;
  const terms = { probation: Number(part.dataset.probation), audits: Number(part.dataset.audits) };
  const body = requireElement<HTMLTableSectionElement>(part, "member-rows");
  const pages = tablePager<TextRow>(body, (rows) => fillRows(body, rows));
  const figures = part.querySelectorAll<HTMLElement>("[data-member-figures] dd");
  const status = requireElement(part, "members-status");
  const banned = requireElement(part, "banned-keys");
  let listed = "";

  async function look(): Promise<number> {
    // If it fails now, the next change fetches it again.
    const mesh = (await requestJson("GET", `/api/tasks/${task}/mesh`).catch(() => null)) as {
      readonly state: MeshAgreement | null;
    } | null;
    if (mesh !== null) show(mesh.state);
    return 0;
  }

  function show(state: MeshAgreement | null): void {
    memberFigures(state).forEach((text, index) => {
      const element = figures[index];
      if (element) setText(element, text);
    });
    const { text, warns } = membersStatus(state);
    setText(status, text);
    status.dataset.warns = String(warns);
    pages.show(state === null ? [] : memberRows(state, terms));
    const keys = state?.banned ?? [];
    // Keys are kept while none is added, because a person may be about to copy one.
    if (keys.join() === listed) return;
    listed = keys.join();
    setChildren(banned, keys.map(keyItem));
  }

  return pollAfterChange(look, EVERY);
}

function keyItem(key: string): HTMLLIElement {
  const item = document.createElement("li");
  const code = document.createElement("code");
  code.title = key;
  code.textContent = shortKey(key);
  item.append(code);
  return item;
}
