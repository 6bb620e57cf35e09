/** Converts what people enter to the stored values of an example, by the code that reads files for training. */

import type { PartSpec } from "../../core/data/bundle";
import { elements } from "../../core/data/examples";
import type { Thumbnail } from "../../core/messages/data-reader";
import type { PlaygroundQuestion } from "../../core/messages/playground";
import { DataProblem } from "../../core/preprocessing/data-problem";
import type { ImageSpec, Preprocess, TableSpec, TextSpec } from "../../core/preprocessing/declaration";
import { imageValues } from "../../core/preprocessing/images/image";
import { encodeCells, inputValues } from "../../core/preprocessing/table";
import { Tokenizer } from "../../core/preprocessing/text/tokens";
import { padIds } from "../../core/preprocessing/text/windows";
import { later } from "../../core/user-messages";
import { type Decode, rgba } from "../data-reader/images";

export interface StoredInputs {
  /** The values of each input of the model. */
  readonly x: readonly ArrayLike<number>[];
  readonly picture: Thumbnail | null;
  readonly lacking: readonly string[];
}

/** Throws DataProblem if the example does not fit the task. */
export async function storedInputs(
  question: PlaygroundQuestion,
  rule: Preprocess | null,
  inputs: readonly PartSpec[],
  decode: Decode,
): Promise<StoredInputs> {
  if (question.kind === "values") return { ...NOTHING, x: splitValues(question.values, inputs) };
  if (question.kind === "picture" && rule?.kind === "image") return picture(question.file, rule, decode);
  if (question.kind === "row" && rule?.kind === "table") return { ...NOTHING, x: row(question.cells, rule) };
  if (question.kind === "text" && rule?.kind === "text") return text(question.text, rule);
  throw new DataProblem(later("This task's examples are of another kind; reload the page"));
}

const NOTHING = { picture: null, lacking: [] } as const;

function splitValues(values: readonly number[], inputs: readonly PartSpec[]): number[][] {
  const widths = inputs.map(({ shape }) => elements(shape));
  const expected = widths.reduce((sum, width) => sum + width, 0);
  if (values.length !== expected)
    throw new DataProblem(
      later("The model takes %(expected)s numbers; these are %(given)s", { expected, given: values.length }),
    );
  let from = 0;
  return widths.map((width) => {
    from += width;
    return values.slice(from - width, from);
  });
}

async function picture(file: Blob, rule: ImageSpec, decode: Decode): Promise<StoredInputs> {
  const values = imageValues(await decode(file), rule);
  const [height, width] = rule.size;
  const pixels = rgba(values, rule.channels);
  return { x: [values], picture: { path: "", label: null, width, height, pixels }, lacking: [] };
}

function row(cells: readonly string[], rule: TableSpec): number[][] {
  const values = { columns: encodeCells(rule, cells), labels: [] };
  return rule.inputs.map((_, input) => inputValues(values, rule, input));
}

function text(given: string, rule: TextSpec): StoredInputs {
  const tokenizer = new Tokenizer(rule);
  return {
    x: [padIds(tokenizer.encode(given), rule.length)],
    picture: null,
    lacking: tokenizer.lacking(given),
  };
}
