/** Classes of code points, the same in every language and version of Unicode. */

const SEPARATORS = new Set([0x7f, 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000]);

/** Whether a code point separates words: spaces, line ends and control characters. */
export function isSeparator(code: number): boolean {
  return code <= 0x20 || (code >= 0x2000 && code <= 0x200a) || SEPARATORS.has(code);
}

/** Whether a code point is ASCII punctuation. */
export function isPunctuation(code: number): boolean {
  return (
    (code >= 0x21 && code <= 0x2f) ||
    (code >= 0x3a && code <= 0x40) ||
    (code >= 0x5b && code <= 0x60) ||
    (code >= 0x7b && code <= 0x7e)
  );
}

/** Lower-cases a letter of the scripts whose case never changed, if the result is one code point by itself. */
export function lowerCase(letter: string): string {
  const code = letter.codePointAt(0) ?? 0;
  if (code >= 0x590 && (code < 0x1e00 || code > 0x1fff)) return letter;
  const small = letter.toLowerCase();
  return [...small].length === 1 ? small : letter;
}
