/** Converts text to token ids and back. */

import { later } from "../../user-messages";
import { DataProblem } from "../data-problem";
import type { TokenizedTextRule, TokenRule } from "../declaration";
import { encodePairs, type Merges, mergesOf } from "./byte-pairs";
import { isPunctuation, isSeparator, lowerCase } from "./code-points";

/** Normalises line ends, then Unicode's normal form and case if the rule says so. */
export function normalizeText(text: string, rule: TokenRule): string {
  const lines = text.replace(/\r\n?/g, "\n");
  const normal = rule.normalize === "nfc" ? lines.normalize("NFC") : lines;
  return rule.lower ? Array.from(normal, lowerCase).join("") : normal;
}

/** Returns the words between separators; each punctuation mark is a word of its own, or is removed. */
export function words(text: string, punctuation: TokenRule["punctuation"]): string[] {
  const words: string[] = [];
  let word = "";
  const end = () => {
    if (word !== "") words.push(word);
    word = "";
  };
  for (const letter of text) {
    const code = letter.codePointAt(0) as number;
    if (isSeparator(code)) end();
    else if (!isPunctuation(code)) word += letter;
    else if (punctuation === "tokens") {
      end();
      words.push(letter);
    }
  }
  end();
  return words;
}

/** Whether a word is a punctuation mark, before which there is no space. */
function isMark(word: string): boolean {
  return word.length === 1 && isPunctuation(word.charCodeAt(0));
}

const encoder = new TextEncoder();
const readable = new TextDecoder();

/** Converts text to ids. Keeps the vocabulary as a map. */
export class Tokenizer {
  readonly #positions: ReadonlyMap<string, number>;
  readonly #merges: Merges | null;
  /** The id of the first token. */
  readonly first: number;

  constructor(private readonly rule: TokenizedTextRule) {
    this.#positions = new Map(rule.tokens.map((token, position) => [token, position]));
    this.#merges = rule.tokenizer === "pairs" ? mergesOf(rule.merges) : null;
    this.first = (rule.label === null ? 0 : 1) + (rule.unknown === "own" ? 1 : 0);
  }

  /** Returns the ids of a text. Throws DataProblem on a token that is not in the vocabulary, if the rule says so. */
  encode(text: string): number[] {
    const normal = normalizeText(text, this.rule);
    if (this.#merges !== null) return encodePairs(normal, this.#merges).map((symbol) => symbol + this.first);
    if (this.rule.tokenizer === "bytes")
      return Array.from(encoder.encode(normal), (byte) => byte + this.first);
    const ids: number[] = [];
    for (const token of this.#tokens(normal)) {
      const id = this.#id(token);
      if (id !== null) ids.push(id);
    }
    return ids;
  }

  /** Returns the letters or words of a text that are not in the vocabulary, each once. */
  lacking(text: string): string[] {
    if (this.rule.tokenizer === "bytes" || this.rule.tokenizer === "pairs") return [];
    const tokens = [...this.#tokens(normalizeText(text, this.rule))];
    return [...new Set(tokens.filter((token) => !this.#positions.has(token)))];
  }

  /** Returns the text of an id, for display. */
  show(id: number): string {
    const bytes = this.#bytes(id);
    return bytes === null ? (this.rule.tokens[id - this.first] ?? "") : readable.decode(bytes);
  }

  /** Returns the text of ids: words with spaces between them, and of bytes no incomplete letter at the end. */
  decode(ids: readonly number[]): string {
    const bytes = ids.map((id) => this.#bytes(id));
    if (!bytes.includes(null)) {
      const all = Uint8Array.from(bytes.flatMap((one) => [...(one ?? [])]));
      return new TextDecoder().decode(all, { stream: true });
    }
    const texts = ids.map((id) => this.show(id));
    if (this.rule.tokenizer !== "words") return texts.join("");
    return texts.reduce((text, word) => (text === "" || isMark(word) ? text + word : `${text} ${word}`), "");
  }

  /** The id of unknown tokens; null if there is none. */
  get unknown(): number | null {
    return this.rule.unknown === "own" ? this.first - 1 : null;
  }

  /** Returns the bytes of an id; null if it stands for a letter or a word. */
  #bytes(id: number): Uint8Array<ArrayBuffer> | null {
    const symbol = id - this.first;
    if (this.#merges === null && this.rule.tokenizer !== "bytes") return null;
    if (symbol < 0) return new Uint8Array();
    return this.#merges === null ? Uint8Array.of(symbol) : this.#merges.bytes(symbol);
  }

  #tokens(normal: string): Iterable<string> {
    return this.rule.tokenizer === "words" ? words(normal, this.rule.punctuation) : normal;
  }

  #id(token: string): number | null {
    const position = this.#positions.get(token);
    if (position !== undefined) return this.first + position;
    if (this.rule.unknown === "own") return this.first - 1;
    if (this.rule.unknown === "drop") return null;
    throw new DataProblem(
      later("The text has '%(token)s', which the task's vocabulary does not know", { token }),
    );
  }
}
