/** What the card on a model's mistakes is made of. */

import type { Findings, Mistake } from "../../../core/data/mistakes";
import { say } from "../../../i18n";
import { number } from "../../../i18n/formatting";
import { visible } from "../local-data/preview";
import { MATRIX_CLASSES, matrixOf, mixUps } from "./confusion";
import type { Sample } from "./samples";

/** Mix-ups that are listed where a matrix would be too large. */
const MIX_UPS = 8;

/** Names up to so many letters fit above a column. */
const SHORT = 4;

type Names = (number: number) => string;

function made<K extends keyof HTMLElementTagNameMap>(
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
  const head = made("th", text);
  head.scope = scope;
  return head;
}

/** The rows of the table: a matrix, or the most frequent mix-ups of many classes. */
export function tableRows(findings: Findings, name: Names): Node[] {
  if (findings.classes > MATRIX_CLASSES) return mixUpRows(findings, name);
  const names = Array.from({ length: findings.classes }, (_, i) => name(i));
  const head = made("tr", "", made("td"), ...names.map((one) => headOf("col", one)));
  // Long names stand upright, so that the columns stay narrow.
  head.className = names.some(({ length }) => length > SHORT) ? "upright" : "";
  const body = matrixOf(findings).map((cells, truth) => {
    const drawn = cells.map(({ count, share, right }, guess) => {
      const cell = made("td", count > 0 ? number(count) : "");
      cell.className = right ? "right" : "wrong";
      cell.style.setProperty("--share", share.toFixed(3));
      cell.title = say.mistakes.cell(names[truth] ?? "", names[guess] ?? "", count);
      return cell;
    });
    return made("tr", "", headOf("row", names[truth] ?? ""), ...drawn);
  });
  return [made("thead", "", head), made("tbody", "", ...body)];
}

function mixUpRows(findings: Findings, name: Names): Node[] {
  const head = made(
    "tr",
    "",
    ...[say.mistakes.truth, say.mistakes.guess, say.mistakes.times].map((text) => headOf("col", text)),
  );
  const body = mixUps(findings, MIX_UPS).map(({ truth, guess, count }) =>
    made(
      "tr",
      "",
      made("td", visible(name(truth))),
      made("td", visible(name(guess))),
      made("td", number(count)),
    ),
  );
  return [made("thead", "", head), made("tbody", "", ...body)];
}

/** An example that the model got wrong, and what it said. */
export function mistakeItem({ truth, guess, chance }: Mistake, sample: Sample, name: Names): HTMLLIElement {
  const tell = sample.kind === "text" && sample.open ? say.mistakes.next : say.mistakes.taken;
  const words = tell(visible(name(truth)), visible(name(guess)), chance);
  const item = made("li", "", ...sampleNodes(sample), made("span", words));
  item.dataset.kind = sample.kind;
  return item;
}

function sampleNodes(sample: Sample): Node[] {
  switch (sample.kind) {
    case "picture": {
      const canvas = made("canvas");
      [canvas.width, canvas.height] = [sample.width, sample.height];
      canvas.setAttribute("aria-hidden", "true");
      canvas.getContext("2d")?.putImageData(new ImageData(sample.pixels, sample.width, sample.height), 0, 0);
      return [canvas];
    }
    case "row":
      return [
        made(
          "dl",
          "",
          ...sample.cells.map(({ name, text }) => made("div", "", made("dt", name), made("dd", text ?? "–"))),
        ),
      ];
    case "text":
      return [made("samp", sample.text)];
    case "nothing":
      return [];
  }
}
