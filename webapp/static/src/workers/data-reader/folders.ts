/** Labels files by the name of their folder. */

import type { OwnFile } from "../../core/messages/data-reader";
import { DataProblem } from "../../core/preprocessing/data-problem";
import type { LabelRule } from "../../core/preprocessing/declaration";
import { encodeLabel } from "../../core/preprocessing/labels";
import { later, laterPlural, type UserMessage } from "../../core/user-messages";
import type { Problems } from "./result";

/** A file with its label, as written and as stored. */
export interface LabelledFile extends OwnFile {
  readonly label: string;
  readonly values: readonly number[];
}

/** Returns the name of the folder that holds a file; null if there is none. */
export function folderOf(path: string): string | null {
  return path.split("/").at(-2) ?? null;
}

/** Returns the files whose folder is a label. Other folders are reported once each. */
export function labelByFolder(
  files: readonly OwnFile[],
  rule: LabelRule,
  problems: Problems,
): LabelledFile[] {
  const labelled: LabelledFile[] = [];
  const strange = new Map<string | null, number>();
  for (const one of files) {
    const label = folderOf(one.path);
    const values = label === null ? null : valuesOf(rule, label);
    if (label !== null && values !== null) labelled.push({ ...one, label, values });
    else strange.set(label, (strange.get(label) ?? 0) + 1);
  }
  for (const [folder, count] of strange) problems.add(...sentences(folder, count, rule));
  return labelled;
}

function valuesOf(rule: LabelRule, label: string): readonly number[] | null {
  try {
    return encodeLabel(rule, label);
  } catch (problem) {
    if (problem instanceof DataProblem) return null;
    throw problem;
  }
}

function sentences(
  folder: string | null,
  count: number,
  rule: LabelRule,
): [where: UserMessage, text: UserMessage] {
  const files = laterPlural("%(count)s file", "%(count)s files", count, {});
  if (folder === null) {
    return [
      files,
      later("Not in a folder, so the class is not known: left out. Choose the class, then add them again."),
    ];
  }
  const expected =
    rule.kind === "class"
      ? later("the classes are %(classes)s", { classes: rule.classes })
      : later("it must be a number", {});
  return [
    `${folder}/`,
    later(
      "No class is called '%(folder)s'; %(expected)s. Left out: %(files)s. Rename the folder, or choose the class and add them again.",
      { folder, expected, files },
    ),
  ];
}
