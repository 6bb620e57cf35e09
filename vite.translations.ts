import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type GetTextTranslations, po } from "gettext-parser";
import ts from "typescript";
import type { Plugin } from "vite";

const ROOT = dirname(fileURLToPath(import.meta.url));
const SCRIPTS = "webapp/static/src";
const SOURCES = `${SCRIPTS}/i18n/texts`;
/** Folders whose messages a page translates when it shows them (core/user-messages.ts). */
const MESSAGES = ["client", "core", "engine", "i18n/texts/volunteers/messages", "protocol", "workers"];
/** Functions that translate, by the number of their first arguments that are English. */
const TRANSLATED: Readonly<Record<string, number>> = { _: 1, ngettext: 2 };
/** Functions that leave this to the page. */
const LATER: Readonly<Record<string, number>> = { later: 1, laterPlural: 2 };
/** C's operators for plurals mean the same in JavaScript. */
const PLURAL_FORMS = /^nplurals=(\d+); *plural=([n\d\s()?:!=<>%&|+*-]+);?$/;

/** English sentences of a script that `marks` mark for translation; of plurals, the singular. */
function sentencesOf(path: string, marks: Readonly<Record<string, number>>): string[] {
  const text = readFileSync(path, "utf8");
  const found: string[] = [];
  if (!Object.keys(marks).some((mark) => text.includes(`${mark}(`))) return found;
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
      const english = node.arguments.slice(0, marks[node.expression.text] ?? 0);
      for (const text of english) {
        if (ts.isStringLiteralLike(text)) continue;
        const { line } = source.getLineAndCharacterOfPosition(text.getStart());
        throw new Error(`${relative(ROOT, path)}:${line + 1}: only a string can be translated`);
      }
      if (english[0]) found.push((english[0] as ts.StringLiteral).text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The English sentences of scripts, for "volunteers" or for "owners". */
export function scriptSentences(whom: string): ReadonlySet<string> {
  const said = scriptsIn(`${SOURCES}/${whom}`).flatMap((path) => sentencesOf(path, TRANSLATED));
  return new Set(whom === "volunteers" ? [...said, ...messages()] : said);
}

/** The English messages of workers and of clients' machines, which volunteers' pages translate. */
export function messages(): ReadonlySet<string> {
  const paths = MESSAGES.flatMap((folder) => scriptsIn(`${SCRIPTS}/${folder}`));
  return new Set(paths.flatMap((path) => sentencesOf(path, LATER)));
}

function scriptsIn(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".ts")).map((name) => join(ROOT, folder, name));
}

/** Compiles a .po file to a module with the translations of `english`: a `Catalogue` of `i18n/translator.ts`. */
export function compiledCatalogue(path: string, english: ReadonlySet<string>): string {
  const { headers, translations }: GetTextTranslations = po.parse(readFileSync(path));
  const [, count, plural] = PLURAL_FORMS.exec(headers["Plural-Forms"]?.trim() ?? "") ?? [];
  if (plural === undefined) throw new Error(`${path}: the header Plural-Forms is missing or wrong`);
  const sentences: Record<string, string | string[]> = {};
  for (const { msgid, msgid_plural, msgstr } of Object.values(translations[""] ?? {})) {
    if (!english.has(msgid) || msgstr.includes("")) continue;
    if (msgid_plural !== undefined && msgstr.length !== Number(count))
      throw new Error(`${path}: "${msgid}" has ${msgstr.length} plural forms instead of ${count}`);
    sentences[msgid] = msgid_plural === undefined ? (msgstr[0] ?? "") : msgstr;
  }
  return `export default { plural: (n) => Number(${plural}), sentences: ${JSON.stringify(sentences)} };`;
}

/** `import catalogue from "./es.po?texts=owners"` gives the translations of the sentences of `texts/owners`. */
export function translations(): Plugin {
  return {
    name: "minga:translations",
    load(id) {
      const [path = "", whom] = id.split("?texts=");
      if (whom === undefined) return null;
      this.addWatchFile(path);
      return { code: compiledCatalogue(path, scriptSentences(whom)), moduleType: "js" };
    },
  };
}
