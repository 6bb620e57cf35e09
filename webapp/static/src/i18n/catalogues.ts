/** Fetches the catalogue of the page's language, one of those that the build makes of `webapp/locales`. */

import { language } from "./language";
import { type Catalogue, Translator } from "./translator";

/** Without translations; its plurals are those of English. */
const ENGLISH: Catalogue = { plural: (count) => (count === 1 ? 0 : 1), sentences: {} };

/** Returns the translator into the page's language, given the compiled `files` by their paths. */
export async function pageTranslator(
  files: Readonly<Record<string, () => Promise<Catalogue>>>,
): Promise<Translator> {
  return new Translator((await files[`/webapp/locales/${language}.po`]?.()) ?? ENGLISH);
}
