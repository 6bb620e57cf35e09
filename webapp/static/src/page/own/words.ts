/** What the part of the page for own files says. Pure. */

import { counted, number } from "../../shared/format";
import type { DataSpec, Preprocess } from "../../shared/preprocess/declaration";
import { listed } from "../../shared/preprocess/labels";
import type { Report } from "../../shared/reader-messages";

const THINGS: Readonly<Record<Preprocess["kind"], readonly [one: string, many: string]>> = {
  image: ["picture", "pictures"],
  table: ["row", "rows"],
  text: ["passage", "passages"],
  array: ["example", "examples"],
};

/** `1 picture`, `40 pictures`. */
export function things(kind: Preprocess["kind"], count: number): string {
  return counted(count, ...THINGS[kind]);
}

/** Classes that files have by their folders; none where their label is no class, or stands in the file. */
export function folderClasses(preprocess: Preprocess): readonly string[] {
  if (preprocess.kind !== "image" && preprocess.kind !== "text") return [];
  if (preprocess.kind === "text" && preprocess.text_column !== null) return [];
  const { label } = preprocess;
  return label?.kind === "class" ? label.classes : [];
}

/** What a file chooser offers. */
export function accepted({ kind }: Preprocess): string {
  switch (kind) {
    case "image":
      return "image/*";
    case "table":
      return ".csv,.tsv,.txt,text/csv";
    case "text":
      return ".txt,.csv,.tsv,.md,text/*";
    case "array":
      return ".npz";
  }
}

/** What the task needs, in sentences. */
export function wanted({ preprocess, volunteer }: DataSpec): string {
  const { minimum, maximum } = volunteer;
  const much = `${number(minimum)} to ${things(preprocess.kind, maximum)}`;
  return `This task needs ${much} from each device. ${how(preprocess)}`;
}

function how(preprocess: Preprocess): string {
  const classes = folderClasses(preprocess);
  const byFolder =
    `Put them into folders named ${listed(classes)}, or choose a class below before you add files. ` +
    "You may add more, one after the other.";
  switch (preprocess.kind) {
    case "image":
      return byFolder;
    case "table":
      return `Choose a CSV file whose first row names the columns; it needs ${listed([
        ...preprocess.columns.map(({ column }) => column),
        ...preprocess.label_columns,
      ])}.`;
    case "text":
      if (preprocess.text_column !== null) {
        return `Choose a CSV file with the columns ${preprocess.text_column} and ${preprocess.label_column}.`;
      }
      return preprocess.label === null ? "Choose text files (UTF-8)." : byFolder;
    case "array":
      return `Choose .npz files with the arrays ${listed([...preprocess.x, ...preprocess.y])}.`;
  }
}

/** One line on what became of the files. */
export function summary({ missing, examples, counts }: Report, kind: Preprocess["kind"]): string {
  if (missing !== null) return missing;
  const held = counts.holdout > 0 ? `, ${number(counts.holdout)} kept aside to measure on` : "";
  return `${things(kind, examples)} ready: ${number(counts.train)} to learn from${held}.`;
}

/** Heading over what is wrong. */
export function problemTitle({ problemCount, problems }: Report): string {
  const title = counted(problemCount, "thing is not as it should be", "things are not as they should be");
  return problemCount > problems.length ? `${title}, such as` : title;
}
