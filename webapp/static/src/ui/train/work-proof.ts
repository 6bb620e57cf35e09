/** Shows how far the proof of work is that a task asks of newcomers, while this page proves it. */

import { ProvingTransport } from "../../client/transports/proving-transport";
import type { Transport } from "../../client/transports/socket";
import { proveInWorker } from "../../client/workers/work-proof-worker";
import { toHex, utf8 } from "../../core/crypto/bytes";
import { say } from "../../i18n";
import { axisPercent, seconds } from "../../i18n/formatting";
import { requireElement, setText } from "../lib/dom";

/** Returns the transport for a task that asks for proofs of work; `proving` hears when one begins and ends. */
export function provingTransport(
  inner: Transport,
  root: HTMLElement,
  task: string,
  token: string,
  proving: (active: boolean) => void,
): ProvingTransport {
  const line = requireElement(root, "work-proof");
  return new ProvingTransport(inner, {
    challenges: async () => `/api/tasks/${task}/challenges/${await idOf(token)}`,
    prove: proveInWorker,
    progressed: (progress) => {
      line.hidden = progress === null;
      proving(progress !== null);
      if (progress === null) return;
      const left = progress.seconds === null ? null : seconds(Math.ceil(progress.seconds));
      setText(line, say.card.proving(axisPercent(progress.share), left));
    },
  });
}

/** Returns the public id of a token's holder (backend/wire/client_id.py), on pages without HTTPS, too. */
async function idOf(token: string): Promise<string> {
  const { sha256 } = await import("@noble/hashes/sha2.js");
  return toHex(sha256(utf8(token))).slice(0, 16);
}
