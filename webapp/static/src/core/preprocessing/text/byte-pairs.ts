/**
 * Byte-pair encoding (Sennrich et al. 2016, "Neural machine translation of rare words with subword units", section
 * 3.2).
 */

import { isSeparator } from "./code-points";

/** Merged pairs by their two symbols; pair `j` makes symbol `256 + j`. */
export interface Merges {
  /** Returns the number of the pair; undefined if it is not merged. */
  number(left: number, right: number): number | undefined;
  /** Returns the bytes of a symbol. */
  bytes(symbol: number): Uint8Array<ArrayBuffer>;
}

/** Larger than every symbol, so that a pair is one number. */
const SYMBOLS = 2 ** 24;

export function mergesOf(merges: readonly (readonly [number, number])[]): Merges {
  const numbers = new Map(merges.map(([left, right], j) => [left * SYMBOLS + right, j]));
  const bytes = (symbol: number): Uint8Array<ArrayBuffer> => {
    const pair = merges[symbol - 256];
    return pair === undefined
      ? Uint8Array.of(symbol)
      : Uint8Array.from(pair.flatMap((one) => [...bytes(one)]));
  };
  return { number: (left, right) => numbers.get(left * SYMBOLS + right), bytes };
}

const encoder = new TextEncoder();

/** Splits text into pieces: each ends before a separator that follows a non-separator. */
export function pieces(text: string): string[] {
  const pieces: string[] = [];
  let piece = "";
  let inWord = false;
  for (const letter of text) {
    const separates = isSeparator(letter.codePointAt(0) as number);
    if (separates && inWord) {
      pieces.push(piece);
      piece = "";
    }
    piece += letter;
    inWord = !separates;
  }
  return piece === "" ? pieces : [...pieces, piece];
}

/** Returns the lowest number of a pair in `symbols`; infinity if there is none. */
function lowest(symbols: readonly number[], merges: Merges): number {
  let rank = Number.POSITIVE_INFINITY;
  for (let i = 1; i < symbols.length; i++) {
    const number = merges.number(symbols[i - 1] as number, symbols[i] as number);
    if (number !== undefined && number < rank) rank = number;
  }
  return rank;
}

/** Replaces the pair of that number everywhere, from left to right. */
function replaced(symbols: readonly number[], merges: Merges, number: number): number[] {
  const out: number[] = [];
  for (let i = 0; i < symbols.length; i++) {
    const [left, right] = [symbols[i] as number, symbols[i + 1]];
    const isPair = right !== undefined && merges.number(left, right) === number;
    out.push(isPair ? 256 + number : left);
    if (isPair) i++;
  }
  return out;
}

function encodePiece(piece: string, merges: Merges): number[] {
  let symbols = [...encoder.encode(piece)];
  for (let number = lowest(symbols, merges); Number.isFinite(number); number = lowest(symbols, merges)) {
    symbols = replaced(symbols, merges, number);
  }
  return symbols;
}

/** Returns the symbols of a text. Repeated pieces are encoded once. */
export function encodePairs(text: string, merges: Merges): number[] {
  const cache = new Map<string, number[]>();
  const all: number[] = [];
  for (const piece of pieces(text)) {
    const symbols = cache.get(piece) ?? encodePiece(piece, merges);
    cache.set(piece, symbols);
    for (const symbol of symbols) all.push(symbol);
  }
  return all;
}
