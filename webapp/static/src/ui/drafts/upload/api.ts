/** What the server answers to tus-js-client, for people (docs/reference/drafts.md, Uploads). */

import type { DetailedError } from "tus-js-client";
import { say } from "../../../i18n";
import { Refusal } from "../../lib/api";

/** Loads tus-js-client, which a page needs only once an upload begins. */
export const loadTus = () => import("tus-js-client");

/** Returns the answer's status; 0 where there is no answer, or only a proxy's while the server restarts. */
export function statusOf(error: DetailedError): number {
  const status = error.originalResponse?.getStatus() ?? 0;
  return status >= 502 && status <= 504 ? 0 : status;
}

/** Returns the server's sentence for an error of tus-js-client. */
export function refusalOf(error: Error): Error {
  if (!("originalResponse" in error)) return error;
  const answer = error as DetailedError;
  try {
    const { error: told } = JSON.parse(answer.originalResponse?.getBody() ?? "");
    return new Refusal(String(told.message));
  } catch {
    // The answer to HEAD has no body.
    const status = statusOf(answer);
    return new Refusal(status === 0 ? say.account.silent : say.account.odd(status));
  }
}

/** Has the server delete an upload. Throws a Refusal with the server's reason. */
export async function discard(url: string): Promise<void> {
  const { Upload } = await loadTus();
  await Upload.terminate(url).catch((error: Error) => Promise.reject(refusalOf(error)));
}
