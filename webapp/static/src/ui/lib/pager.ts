/** Shows a long list page by page; it stays on its page when the list is shown again. */

import { charts } from "../../i18n/texts/owners/dashboard/charts";
import { makeButton } from "./button";
import { setText } from "./dom";
import { pageSlice } from "./pages";

export class Pager<Row> {
  readonly #render: (rows: readonly Row[]) => void;
  readonly #bar = document.createElement("nav");
  readonly #where = document.createElement("span");
  readonly #previous: HTMLButtonElement;
  readonly #next: HTMLButtonElement;
  #rows: readonly Row[] = [];
  #page = 0;

  /** `render` shows the rows of a page; the buttons stand behind `place`; `name` is what the list is called. */
  constructor(place: Element, name: string, render: (rows: readonly Row[]) => void) {
    this.#render = render;
    this.#bar.className = "pages";
    this.#bar.setAttribute("aria-label", charts.pagesOf(name));
    this.#bar.hidden = true;
    this.#where.setAttribute("role", "status");
    this.#previous = makeButton(charts.previous, () => this.#turn(-1));
    this.#next = makeButton(charts.next, () => this.#turn(1));
    this.#bar.append(this.#previous, this.#where, this.#next);
    place.after(this.#bar);
  }

  show(rows: readonly Row[]): void {
    this.#rows = rows;
    const { page, pages, first, end } = pageSlice(rows.length, this.#page);
    this.#page = page;
    this.#render(rows.slice(first, end));
    this.#bar.hidden = pages === 1;
    setText(this.#where, charts.rows(first + 1, end, rows.length));
    // Not `disabled`: a button that has the focus would lose it on the last page.
    this.#previous.setAttribute("aria-disabled", String(page === 0));
    this.#next.setAttribute("aria-disabled", String(page === pages - 1));
  }

  #turn(by: number): void {
    const { pages } = pageSlice(this.#rows.length, this.#page);
    const page = this.#page + by;
    if (page < 0 || page >= pages) return;
    this.#page = page;
    this.show(this.#rows);
  }
}

/** Returns a pager of the table around `body`, called as the heading of its region. */
export function tablePager<Row>(body: HTMLElement, render: (rows: readonly Row[]) => void): Pager<Row> {
  const region = body.closest(".scroll") ?? body.closest("table") ?? body;
  const heading = document.getElementById(region.getAttribute("aria-labelledby") ?? "");
  return new Pager(region, heading?.textContent?.trim() ?? "", render);
}
