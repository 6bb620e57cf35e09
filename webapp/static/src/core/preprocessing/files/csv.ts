/** Reads CSV tables: rows of cells, some of them quoted. */

import { later, laterPlural } from "../../user-messages";
import { DataProblem } from "../data-problem";

const LINE_END = /[\r\n]/;

/** Reads the text of a table cell by cell. */
class Scanner {
  #at = 0;
  #row = 0;

  constructor(
    private readonly text: string,
    private readonly delimiter: string,
  ) {}

  /** Returns the next row; null at the end. Empty lines are no rows. */
  next(): string[] | null {
    while (this.#at < this.text.length && LINE_END.test(this.text[this.#at] as string)) this.#at++;
    if (this.#at >= this.text.length) return null;
    const cells: string[] = [];
    for (;;) {
      cells.push(this.text[this.#at] === '"' ? this.#quoted() : this.#plain());
      if (this.text[this.#at] !== this.delimiter) break;
      this.#at++;
    }
    this.#row++;
    return cells;
  }

  #plain(): string {
    const start = this.#at;
    while (this.#at < this.text.length) {
      const letter = this.text[this.#at] as string;
      if (letter === this.delimiter || letter === "\n" || letter === "\r") break;
      this.#at++;
    }
    return this.text.slice(start, this.#at);
  }

  #quoted(): string {
    let cell = "";
    let start = this.#at + 1;
    for (;;) {
      const end = this.text.indexOf('"', start);
      if (end < 0) throw this.#unclosed();
      cell += this.text.slice(start, end);
      this.#at = end + 1;
      if (this.text[this.#at] !== '"') break;
      cell += '"';
      start = this.#at + 1;
    }
    const after = this.text[this.#at];
    if (after !== undefined && after !== this.delimiter && !LINE_END.test(after)) {
      throw this.#trailing();
    }
    return cell;
  }

  #unclosed(): DataProblem {
    return new DataProblem(
      this.#row === 0
        ? later('The first row opens a quote (") that never ends; close it')
        : later('Row %(row)s opens a quote (") that never ends; close it', { row: this.#row }),
    );
  }

  #trailing(): DataProblem {
    return new DataProblem(
      this.#row === 0
        ? later('The first row continues after a closing quote ("); double the quotes inside a cell')
        : later('Row %(row)s continues after a closing quote ("); double the quotes inside a cell', {
            row: this.#row,
          }),
    );
  }
}

/** Returns all rows of a table's text, the names of its columns first. Throws DataProblem on a misplaced quote. */
export function csvRows(text: string, delimiter: string): string[][] {
  const scanner = new Scanner(text, delimiter);
  const rows: string[][] = [];
  for (let row = scanner.next(); row !== null; row = scanner.next()) rows.push(row);
  return rows;
}

/** Removes the spaces and tabs at both ends of a cell. */
export function trimCell(cell: string): string {
  let [from, until] = [0, cell.length];
  while (from < until && (cell[from] === " " || cell[from] === "\t")) from++;
  while (until > from && (cell[until - 1] === " " || cell[until - 1] === "\t")) until--;
  return cell.slice(from, until);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(", ");
}

/** Returns the positions of the named columns. Throws DataProblem that lists the missing and the existing ones. */
export function findColumns(header: readonly string[], names: readonly string[]): number[] {
  const there = header.map(trimCell);
  const missing = names.filter((name) => !there.includes(name));
  if (missing.length > 0) {
    throw new DataProblem(
      laterPlural(
        "The table has no column %(missing)s. Its first row must name the columns; it names %(there)s",
        "The table has no columns %(missing)s. Its first row must name the columns; it names %(there)s",
        missing.length,
        { missing: quoted(missing), there: quoted(there) },
      ),
    );
  }
  const twice = names.find((name) => there.indexOf(name) !== there.lastIndexOf(name));
  if (twice !== undefined) {
    throw new DataProblem(
      later("The table has two columns '%(name)s'; give each a name of its own", { name: twice }),
    );
  }
  return names.map((name) => there.indexOf(name));
}

/** Throws DataProblem if a row has another number of cells than the first. */
export function checkWidth(row: readonly string[], header: readonly string[]): void {
  if (row.length === header.length) return;
  throw new DataProblem(
    later("This row has %(cells)s cells where the first row has %(first)s", {
      cells: row.length,
      first: header.length,
    }),
  );
}
