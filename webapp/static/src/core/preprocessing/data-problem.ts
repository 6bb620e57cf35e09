/** A problem with a file, a row or a cell: a sentence for its owner. */
export class DataProblem extends Error {
  override readonly name = "DataProblem";
}
