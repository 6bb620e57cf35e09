/** The line on what this device contributed to the task before: the server knows it by its stored token. */

import { say } from "../../i18n";
import { requireElement } from "../lib/dom";
import { fetchJson } from "../lib/responses";

export interface Contribution {
  readonly accepted: number;
  readonly examples: number;
  readonly operations: number;
}

/** Returns what the client with a public id contributed to a task; null without any, or without an answer. */
export async function contributionOf(task: string, client: string): Promise<Contribution | null> {
  const answer = await fetchJson<{ readonly contributions: readonly Contribution[] }>(
    `/api/tasks/${task}/contributions?client=${client}`,
  );
  return answer?.contributions[0] ?? null;
}

/** Returns the public id of a token's holder (backend/wire/client_id.py); null where hashing is not offered. */
export async function idOf(token: string): Promise<string | null> {
  // Browsers offer hashing only to pages from https or localhost.
  if (!globalThis.crypto.subtle) return null;
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return [...new Uint8Array(hash, 0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Shows the line if contributions of `token`'s holder count. */
export async function showEarlierVisits(root: HTMLElement, task: string, token: string): Promise<void> {
  const client = await idOf(token);
  if (client === null) return;
  const before = await contributionOf(task, client);
  if (before === null || before.accepted === 0) return;
  const line = requireElement(root, "earlier-visits");
  line.textContent = say.card.earlierVisits(before.accepted, before.examples, before.operations);
  line.hidden = false;
}
