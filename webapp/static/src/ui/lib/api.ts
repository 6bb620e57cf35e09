/** Requests to the server's JSON API. */

import { say } from "../../i18n";

/** An answer other than success, with the server's sentence. */
export class Refusal extends Error {}

/** There is no answer: the network or the server is down. */
export class NoAnswer extends Refusal {}

/** Sends `body` as JSON; returns the answer's JSON, null without one. Throws a Refusal with a sentence for people. */
export async function requestJson(
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  address: string,
  body?: unknown,
): Promise<unknown> {
  return answerTo(method, address, "application/json", body === undefined ? null : JSON.stringify(body));
}

/** Sends a file as it is; returns and throws as `requestJson` does. */
export async function sendFile(address: string, file: Blob): Promise<unknown> {
  return answerTo("PUT", address, file.type || "application/octet-stream", file);
}

async function answerTo(
  method: string,
  address: string,
  type: string,
  body: BodyInit | null,
): Promise<unknown> {
  const headers = { accept: "application/json", "content-type": type };
  const response = await fetch(address, { method, headers, body }).catch(() => null);
  if (!response) throw new NoAnswer(say.account.silent);
  if (response.status === 204) return null;
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok) return answer;
  throw new Refusal(sentence(answer) ?? say.account.odd(response.status));
}

/** Does `work`, and shows a refusal in `problem`, which is empty otherwise. Other errors are thrown. */
export async function showRefusal(problem: HTMLElement, work: () => Promise<unknown>): Promise<void> {
  problem.textContent = "";
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    problem.textContent = error.message;
  }
}

function sentence(answer: unknown): string | null {
  if (typeof answer !== "object" || answer === null || !("error" in answer)) return null;
  const { error } = answer;
  if (typeof error !== "object" || error === null || !("message" in error)) return null;
  return typeof error.message === "string" ? error.message : null;
}
