/** The texts of the page's part for own files. Pure. */

import type { Report } from "../../../core/messages/data-reader";
import type { DataSpec, Preprocess } from "../../../core/preprocessing/declaration";
import { say } from "../../../i18n";

/** Returns the classes that folders name; none if the label is no class, or is in the file. */
export function folderClasses(preprocess: Preprocess): readonly string[] {
  if (preprocess.kind === "table" || preprocess.kind === "array") return [];
  if (preprocess.kind === "text" && preprocess.text_column !== null) return [];
  const { label } = preprocess;
  return label?.kind === "class" ? label.classes : [];
}

/** Returns the file types that a file chooser offers. */
export function acceptedTypes({ kind }: Preprocess): string {
  switch (kind) {
    case "image":
      return "image/*";
    case "audio":
      return ".wav,.zip,audio/*";
    case "table":
      return ".csv,.tsv,.txt,text/csv";
    case "text":
      return ".txt,.csv,.tsv,.md,text/*";
    case "array":
      return ".npz";
  }
}

/** Returns the task's requirements, in sentences. */
export function requiredData({ preprocess, volunteer }: DataSpec): string {
  const { minimum, maximum } = volunteer;
  return `${say.own.wanted(minimum, preprocess.kind, maximum)} ${howToChoose(preprocess)}`;
}

function howToChoose(preprocess: Preprocess): string {
  switch (preprocess.kind) {
    case "image":
    case "audio":
      return say.own.byFolder(folderClasses(preprocess));
    case "table": {
      const columns = preprocess.columns.map(({ column }) => column);
      return say.own.table([...columns, ...preprocess.label_columns]);
    }
    case "text":
      if (preprocess.text_column !== null)
        return say.own.textTable(preprocess.text_column, preprocess.label_column ?? "");
      return preprocess.label === null ? say.own.texts : say.own.byFolder(folderClasses(preprocess));
    case "array":
      return say.own.arrays([...preprocess.x, ...preprocess.y]);
  }
}

/** Returns one line on the reader's report. */
export function summary({ missing, examples, counts }: Report, kind: Preprocess["kind"]): string {
  if (missing !== null) return say.message(missing);
  const { train, holdout } = counts;
  return holdout > 0
    ? say.own.readyHeld(kind, examples, train, holdout)
    : say.own.ready(kind, examples, train);
}

/** Returns the heading of the list of problems. */
export function problemTitle({ problemCount, problems }: Report): string {
  return problemCount > problems.length
    ? say.own.problemsSuchAs(problemCount)
    : say.own.problems(problemCount);
}
