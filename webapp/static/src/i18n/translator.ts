/** Looks sentences up in a compiled gettext catalogue and fills their placeholders. */

import type { Placeholder } from "../core/user-messages";
import { number } from "./formatting";

/** What `vite.translations.ts` makes of a .po file: the sentences of scripts by their English. */
export interface Catalogue {
  /** Returns which plural form stands with `count`, by the file's `Plural-Forms`. */
  readonly plural: (count: number) => number;
  /** Translations by English; of a plural, by the English singular, one for each form. */
  readonly sentences: Readonly<Record<string, string | readonly string[]>>;
}

/** A value for each name, already as people read it; nothing where there is no name. */
type PlaceholderValues<Name extends string> = [Name] extends [never]
  ? []
  : [values: Readonly<Record<Name, string>>];

export class Translator {
  readonly #catalogue: Catalogue;

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue;
  }

  readonly gettext = <Text extends string>(
    text: Text,
    ...[values]: PlaceholderValues<Placeholder<Text>>
  ): string => this.translate(text, values);

  readonly ngettext = <One extends string, Many extends string>(
    one: One,
    many: Many,
    count: number,
    ...[values]: PlaceholderValues<Exclude<Placeholder<One | Many>, "count">>
  ): string => this.translatePlural(one, many, count, values);

  /** Translates text whose placeholders are not known here; text without a translation stays as it is. */
  translate(text: string, values?: Readonly<Record<string, string>>): string {
    return filled(this.find(text) ?? text, values);
  }

  /** Returns the translation; null if the catalogue has none. */
  find(text: string): string | null {
    const found = this.#catalogue.sentences[text];
    return typeof found === "string" ? found : null;
  }

  translatePlural(
    one: string,
    many: string,
    count: number,
    values?: Readonly<Record<string, string>>,
  ): string {
    const forms = this.#catalogue.sentences[one];
    const whole = Math.abs(Math.round(count));
    const found = typeof forms === "object" ? forms[this.#catalogue.plural(whole)] : undefined;
    return filled(found ?? (whole === 1 ? one : many), { ...values, count: number(count) });
  }
}

function filled(text: string, values: Readonly<Record<string, string>> = {}): string {
  return text.replace(/%\((\w+)\)s/g, (placeholder, name: string) => values[name] ?? placeholder);
}
