/** The elements of the card of mistakes. */

import type { Mistake, MistakeFindings } from "../../../core/data/mistakes";
import { say } from "../../../i18n";
import { number } from "../../../i18n/formatting";
import { showWhiteSpace } from "../local-data/preview";
import { confusionsOf, MATRIX_CLASSES, matrixOf } from "./confusion";
import type { Sample } from "./samples";

/** The confusions that are listed if a matrix would be too large. */
const MIX_UPS = 8;

/** The longest names that fit above a column. */
const SHORT = 4;

type ClassLabels = (number: number) => string;

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text = "",
  ...children: readonly Node[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (text !== "") element.textContent = text;
  element.append(...children);
  return element;
}

function headOf(scope: "row" | "col", text: string): HTMLElement {
  const head = element("th", text);
  head.scope = scope;
  return head;
}

/** Returns the rows of the table: a matrix, or the most frequent confusions of many classes. */
export function tableRows(findings: MistakeFindings, name: ClassLabels): Node[] {
  if (findings.classes > MATRIX_CLASSES) return confusionRows(findings, name);
  const names = Array.from({ length: findings.classes }, (_, i) => name(i));
  const head = element("tr", "", element("td"), ...names.map((one) => headOf("col", one)));
  // Long names are vertical, so that the columns stay narrow.
  head.className = names.some(({ length }) => length > SHORT) ? "upright" : "";
  const body = matrixOf(findings).map((cells, truth) => {
    const drawn = cells.map(({ count, share, right }, guess) => {
      const cell = element("td", count > 0 ? number(count) : "");
      cell.className = right ? "right" : "wrong";
      cell.style.setProperty("--share", share.toFixed(3));
      cell.title = say.mistakes.cell(names[truth] ?? "", names[guess] ?? "", count);
      return cell;
    });
    return element("tr", "", headOf("row", names[truth] ?? ""), ...drawn);
  });
  return [element("thead", "", head), element("tbody", "", ...body)];
}

function confusionRows(findings: MistakeFindings, name: ClassLabels): Node[] {
  const head = element(
    "tr",
    "",
    ...[say.mistakes.truth, say.mistakes.guess, say.mistakes.times].map((text) => headOf("col", text)),
  );
  const body = confusionsOf(findings, MIX_UPS).map(({ truth, guess, count }) =>
    element(
      "tr",
      "",
      element("td", showWhiteSpace(name(truth))),
      element("td", showWhiteSpace(name(guess))),
      element("td", number(count)),
    ),
  );
  return [element("thead", "", head), element("tbody", "", ...body)];
}

/** Returns a misclassified example with the model's answer. */
export function mistakeItem(
  { truth, guess, chance }: Mistake,
  sample: Sample,
  name: ClassLabels,
): HTMLLIElement {
  const tell = sample.kind === "text" && sample.open ? say.mistakes.next : say.mistakes.taken;
  const words = tell(showWhiteSpace(name(truth)), showWhiteSpace(name(guess)), chance);
  const item = element("li", "", ...sampleNodes(sample), element("span", words));
  item.dataset.kind = sample.kind;
  return item;
}

function sampleNodes(sample: Sample): Node[] {
  switch (sample.kind) {
    case "picture": {
      const canvas = element("canvas");
      [canvas.width, canvas.height] = [sample.width, sample.height];
      canvas.setAttribute("aria-hidden", "true");
      canvas.getContext("2d")?.putImageData(new ImageData(sample.pixels, sample.width, sample.height), 0, 0);
      return [canvas];
    }
    case "row":
      return [
        element(
          "dl",
          "",
          ...sample.cells.map(({ name, text }) =>
            element("div", "", element("dt", name), element("dd", text ?? "–")),
          ),
        ),
      ];
    case "text":
      return [element("samp", sample.text)];
    case "nothing":
      return [];
  }
}
