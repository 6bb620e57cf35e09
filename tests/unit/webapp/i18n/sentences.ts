/** Texts of scripts that people would read without their being looked up. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** A word with a capital, and another after it or a full stop: code says nothing of the kind. */
const SENTENCE =
  /^\W*[A-Z][a-z’]*([ ,:]+[\w’(].*| ?[.!?…])$|[a-z’]{2,}[,:]? [a-z’]{2,}.*[.!?:…]$|^[A-Z][a-z]{2,}$/su;

/** Functions that translate the texts they are given, at once or when a page shows them. */
const MARKS = ["_", "ngettext", "later", "laterPlural"];

/** Every script below `folder`, without declarations. */
export function scriptsOf(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /(?<!\.d)\.ts$/.test(name)).map((name) => join(folder, name));
}

/** The texts of `path` that look like words for people; with `errors` also what errors say. */
export function sentencesIn(path: string, text = readFileSync(path, "utf8"), errors = false): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isThrowStatement(node) && !errors) || ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isCallExpression(node) && MARKS.includes(node.expression.getText(source))) {
      node.arguments.filter((part) => !ts.isStringLiteralLike(part)).forEach(visit);
      return;
    }
    const said = wordsOf(node);
    if (said !== null && SENTENCE.test(said.trim())) found.push(said);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** A text as it stands; figures in it are `1`. */
function wordsOf(node: ts.Node): string | null {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }) => `1${literal.text}`).join("");
}
