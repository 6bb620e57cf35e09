/** Text as ids of tokens. */

import type { TextRule, TokenRule } from "./declaration";
import { isPunctuation, isSeparator, lowered } from "./letters";
import { encodePairs, type Merges, mergesOf } from "./pairs";
import { DataProblem } from "./problem";

/** One kind of line end, then Unicode's normal form and lower case where the rule asks for them. */
export function normalizeText(text: string, rule: TokenRule): string {
  const lines = text.replace(/\r\n?/g, "\n");
  const normal = rule.normalize === "nfc" ? lines.normalize("NFC") : lines;
  return rule.lower ? Array.from(normal, lowered).join("") : normal;
}

/** The runs of letters between separators; each punctuation mark is a word of its own, or is removed. */
export function words(text: string, punctuation: TokenRule["punctuation"]): string[] {
  const found: string[] = [];
  let word = "";
  const end = () => {
    if (word !== "") found.push(word);
    word = "";
  };
  for (const letter of text) {
    const code = letter.codePointAt(0) as number;
    if (isSeparator(code)) end();
    else if (!isPunctuation(code)) word += letter;
    else if (punctuation === "tokens") {
      end();
      found.push(letter);
    }
  }
  end();
  return found;
}

const encoder = new TextEncoder();
const readable = new TextDecoder();

/** Turns text into ids. Keeps the vocabulary as a map. */
export class Tokenizer {
  readonly #positions: ReadonlyMap<string, number>;
  readonly #merges: Merges | null;
  readonly #first: number;

  constructor(private readonly rule: TextRule) {
    this.#positions = new Map(rule.tokens.map((token, position) => [token, position]));
    this.#merges = rule.tokenizer === "pairs" ? mergesOf(rule.merges) : null;
    this.#first = (rule.label === null ? 0 : 1) + (rule.unknown === "own" ? 1 : 0);
  }

  /** Ids of a text. Throws DataProblem on a token that the vocabulary lacks, where the rule says so. */
  encode(text: string): number[] {
    const normal = normalizeText(text, this.rule);
    const { tokenizer } = this.rule;
    if (this.#merges !== null) return encodePairs(normal, this.#merges).map((symbol) => symbol + this.#first);
    if (tokenizer === "bytes") return Array.from(encoder.encode(normal), (byte) => byte + this.#first);
    const tokens = tokenizer === "words" ? words(normal, this.rule.punctuation) : normal;
    const ids: number[] = [];
    for (const token of tokens) {
      const id = this.#id(token);
      if (id !== null) ids.push(id);
    }
    return ids;
  }

  /** What an id stands for, to show it. */
  show(id: number): string {
    const symbol = id - this.#first;
    if (symbol < 0) return "";
    if (this.#merges !== null) return readable.decode(this.#merges.bytes(symbol));
    if (this.rule.tokenizer === "bytes") return readable.decode(Uint8Array.of(symbol));
    return this.rule.tokens[symbol] ?? "";
  }

  /** The id of unknown tokens; null where they have none. */
  get unknown(): number | null {
    return this.rule.unknown === "own" ? this.#first - 1 : null;
  }

  #id(token: string): number | null {
    const position = this.#positions.get(token);
    if (position !== undefined) return this.#first + position;
    if (this.rule.unknown === "own") return this.#first - 1;
    if (this.rule.unknown === "drop") return null;
    throw new DataProblem(`The text has '${token}', which the task's vocabulary does not know`);
  }
}
