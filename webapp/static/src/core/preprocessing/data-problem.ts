/** What is wrong with a file, a row or a cell: a sentence for the person who owns it. */
export class DataProblem extends Error {
  override readonly name = "DataProblem";
}
