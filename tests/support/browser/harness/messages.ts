/** What the harness' page and worker say to each other: calls by name, answers by number. */

export interface Call {
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}

export type Answer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string };
