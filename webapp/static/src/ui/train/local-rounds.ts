/** The rounds in which this device learned: points of the curve, and a table. */

import type { LocalMetrics } from "../../client/session/local-metrics";
import { decimal, number, percent } from "../../i18n/formatting";
import { requireElement } from "../lib/dom";

/** The number of latest rounds that are shown. */
const SHOWN = 200;

/** Shows the rounds. Owns the table and its content. */
export class LocalRounds {
  readonly #root: ParentNode;
  #rounds: readonly LocalMetrics[] = [];

  constructor(root: ParentNode) {
    this.#root = root;
  }

  /** The oldest round first; one for each version that this device may have contributed to. */
  get rounds(): readonly LocalMetrics[] {
    return this.#rounds;
  }

  /** Adds a round; a repeated one replaces the first attempt. */
  add(learned: LocalMetrics): void {
    const others = this.#rounds.filter(({ version }) => version !== learned.version);
    this.#rounds = [...others, learned].slice(-SHOWN);
    requireElement(this.#root, "mine-table").hidden = false;
    requireElement(this.#root, "mine-rounds").replaceChildren(...this.#rounds.map(rowOf).reverse());
  }
}

function rowOf({ version, steps, examples, accuracy, loss }: LocalMetrics): HTMLTableRowElement {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = number(version);
  const cells = [number(steps), number(examples), percent(accuracy), decimal(loss)].map((text) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    return cell;
  });
  row.append(head, ...cells);
  return row;
}

/** Joins the values of both kinds at every version that either has, in order; null for a missing one. */
export function byVersion<A, B>(
  ours: ReadonlyMap<number, A>,
  mine: ReadonlyMap<number, B>,
): (readonly [version: number, ours: A | null, mine: B | null])[] {
  const versions = [...new Set([...ours.keys(), ...mine.keys()])].sort((a, b) => a - b);
  return versions.map((version) => [version, ours.get(version) ?? null, mine.get(version) ?? null]);
}
