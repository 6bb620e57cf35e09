import { UserError } from "../user-messages";

/** A problem with a file, a row or a cell: a message for its owner, without its full stop. */
export class DataProblem extends UserError {
  override readonly name = "DataProblem";
}
