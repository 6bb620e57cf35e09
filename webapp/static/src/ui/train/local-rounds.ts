/** The rounds that this device learned in: points of the curve of all, and a table. */

import type { LocalMetrics } from "../../client/session/local-metrics";
import { decimal, number, percent } from "../../i18n/formatting";
import { requireElement } from "../lib/dom";

/** As many of the latest rounds as are told. */
const SHOWN = 200;

/** Owns the table, and what stands in it. */
export class LocalRounds {
  readonly #root: ParentNode;
  #rounds: readonly LocalMetrics[] = [];

  constructor(root: ParentNode) {
    this.#root = root;
  }

  /** The oldest first; one for each version that this device may have made a part of. */
  get rounds(): readonly LocalMetrics[] {
    return this.#rounds;
  }

  /** A round that is done again takes the place of the first try. */
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

/** The values of both kinds at every version that either has, in order; null where one has none. */
export function byVersion<A, B>(
  ours: ReadonlyMap<number, A>,
  mine: ReadonlyMap<number, B>,
): (readonly [version: number, ours: A | null, mine: B | null])[] {
  const versions = [...new Set([...ours.keys(), ...mine.keys()])].sort((a, b) => a - b);
  return versions.map((version) => [version, ours.get(version) ?? null, mine.get(version) ?? null]);
}
