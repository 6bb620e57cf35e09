/** Splits long lists into pages. Pure. */

export const ROWS_A_PAGE = 20;

/** The rows of one page, numbered from 0. */
export interface PageSlice {
  readonly page: number;
  readonly pages: number;
  readonly first: number;
  /** The row after the last one. */
  readonly end: number;
}

/** Returns the rows of `page`, or of the last page if there are not so many. */
export function pageSlice(rows: number, page: number, size = ROWS_A_PAGE): PageSlice {
  const pages = Math.max(1, Math.ceil(rows / size));
  const shown = Math.min(Math.max(0, page), pages - 1);
  const first = shown * size;
  return { page: shown, pages, first, end: Math.min(rows, first + size) };
}
