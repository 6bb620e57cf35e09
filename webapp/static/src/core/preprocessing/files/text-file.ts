/** Decodes the bytes of a file to text. */

import { later } from "../../user-messages";
import { DataProblem } from "../data-problem";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8, without its byte order mark. Throws DataProblem on invalid bytes. */
export function decodeText(bytes: ArrayBuffer | Uint8Array<ArrayBuffer>): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new DataProblem(later("This is not text in UTF-8. Save it as UTF-8 and choose it again"));
  }
}
