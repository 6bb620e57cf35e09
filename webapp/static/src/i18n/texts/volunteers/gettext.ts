/** Marks the sentences for volunteers, and translates them into the language of the page. */

import { pageTranslator } from "../../catalogues";
import type { Catalogue, Translator } from "../../translator";

const FILES = import.meta.glob<Catalogue>("/webapp/locales/*.po", {
  query: "?texts=volunteers",
  import: "default",
});
/** The translator into the language of the page. */
export const translator = await pageTranslator(FILES);

/** Translates `text`; its placeholders `%(name)s` become `values`. */
export const _: Translator["gettext"] = translator.gettext;

/** Translates the form that stands with `count`; `%(count)s` becomes the count, with its thousands apart. */
export const ngettext: Translator["ngettext"] = translator.ngettext;
