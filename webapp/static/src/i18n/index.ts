/**
 * What scripts say to people. English is the catalogue that all others have the type of, so that one that lacks a
 * sentence does not compile. Sentences with figures are functions; `counted` knows the plural.
 */

import { en } from "./en";
import { language } from "./language";

export type Catalogue = typeof en;

/** The other languages, each fetched only by those who read it. */
const OTHERS: Readonly<Record<string, () => Promise<Catalogue>>> = {
  es: async () => (await import("./es")).es,
};

/** In the language of the page. */
export const say: Catalogue = (await OTHERS[language]?.()) ?? en;
