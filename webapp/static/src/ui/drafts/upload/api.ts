/** The server's API for uploads (docs/reference/drafts.md, Files in pieces). */

import { say } from "../../../i18n";
import { NoAnswer, Refusal, requestJson } from "../../lib/api";
import type { FileKind } from "../record";

export interface UploadPort {
  /** Announces a file; without its hash only to check whether the server would refuse it. */
  begin(name: string, bytes: number, sha256?: string): Promise<void>;
  /** Returns how many bytes have arrived: all, if a file with that hash is complete. */
  offset(sha256: string | null): Promise<number>;
  /** Sends bytes that belong at `offset`; returns how many have arrived then. */
  piece(offset: number, bytes: Blob, signal: AbortSignal): Promise<number>;
  forget(): Promise<void>;
}

/** The server has another offset in the file. */
export class UrlSource extends Refusal {}

const OFFSET = "Upload-Offset";

export function portOf(draft: string, kind: FileKind): UploadPort {
  const address = `${draft}/files/${kind}`;
  return {
    begin: async (name, bytes, sha256) =>
      void (await requestJson("POST", address, { name, bytes, ...(sha256 ? { sha256 } : {}) })),
    offset: async (sha256) => {
      const answer = await sent(sha256 ? `${address}?sha256=${sha256}` : address, { method: "HEAD" });
      if (!answer.ok) throw new Refusal(say.account.odd(answer.status));
      return Number(answer.headers.get(OFFSET));
    },
    piece: async (offset, bytes, signal) => {
      const headers = { [OFFSET]: String(offset), accept: "application/json" };
      const answer = await sent(address, { method: "PATCH", headers, body: bytes, signal });
      if (answer.ok) return Number(answer.headers.get(OFFSET));
      const body = (await answer.json().catch(() => null)) as { error?: { message?: string } } | null;
      const why = body?.error?.message ?? say.account.odd(answer.status);
      // Proxies answer like this while the server restarts.
      if (answer.status >= 502 && answer.status <= 504) throw new NoAnswer(why);
      throw answer.status === 409 ? new UrlSource(why) : new Refusal(why);
    },
    forget: async () => void (await requestJson("DELETE", address)),
  };
}

async function sent(address: string, asked: RequestInit): Promise<Response> {
  try {
    return await fetch(address, asked);
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    throw new NoAnswer(say.account.silent);
  }
}
