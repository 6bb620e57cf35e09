/** Decodes the bytes of a file to text. */

import { later } from "../../user-messages";
import { DataProblem } from "../data-problem";

/** Bytes that Windows-1252 leaves undefined, and zeros, which no text has. */
const UNDEFINED = new Set([0x00, 0x81, 0x8d, 0x8f, 0x90, 0x9d]);

/** Windows-1252's characters from 0x80 to 0x9f; the others are those of Latin-1. Some TextDecoders confuse the two. */
const WINDOWS = "€?‚ƒ„…†‡ˆ‰Š‹Œ?Ž??‘’“”•–—˜™š›œ?žŸ";
const CHUNK = 8192;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8, without its byte order mark. Throws DataProblem on invalid bytes. */
export function decodeText(bytes: ArrayBuffer | Uint8Array<ArrayBuffer>): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new DataProblem(later("This is not text in UTF-8. Save it as UTF-8 and choose it again"));
  }
}

/**
 * Decodes a table as the server does (docs/reference/preprocessing.md#tables): UTF-16 by its byte order mark, UTF-8, or
 * Windows-1252 if it is no UTF-8. Throws DataProblem on other bytes.
 */
export function decodeTable(content: ArrayBuffer | Uint8Array<ArrayBuffer>): string {
  const bytes = content instanceof Uint8Array ? content : new Uint8Array(content);
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return decodeUtf16(bytes, "utf-16le");
  if (first === 0xfe && second === 0xff) return decodeUtf16(bytes, "utf-16be");
  try {
    return decoder.decode(bytes);
  } catch {
    if (bytes.some((byte) => UNDEFINED.has(byte))) throw undecodable();
    return decodeWindows(bytes);
  }
}

function decodeWindows(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let start = 0; start < bytes.length; start += CHUNK) {
    const codes = Array.from(bytes.subarray(start, start + CHUNK), (byte) =>
      byte >= 0x80 && byte < 0xa0 ? WINDOWS.charCodeAt(byte - 0x80) : byte,
    );
    parts.push(String.fromCharCode(...codes));
  }
  return parts.join("");
}

function decodeUtf16(bytes: Uint8Array<ArrayBuffer>, encoding: "utf-16le" | "utf-16be"): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw undecodable();
  }
}

function undecodable(): DataProblem {
  return new DataProblem(
    later("This table is neither UTF-8, UTF-16 nor Windows-1252. Save it as UTF-8 and choose it again"),
  );
}
