/** Makes files of collected examples, as if they had been chosen from folders by class. Pure. */

import type { OwnFile } from "../../../core/messages/data-reader";
import type { TextSpec } from "../../../core/preprocessing/declaration";

const COLLECTED = /(^|\/)collected-\d+\.(jpg|png|wav|txt|csv)$/;

/** Whether a file was collected on the page, now or in an earlier session. */
export function isCollected({ path }: OwnFile): boolean {
  return COLLECTED.test(path);
}

/** Returns the number of the next collected example. */
export function nextNumber(files: readonly OwnFile[]): number {
  const numbers = files.filter(isCollected).map(({ path }) => Number(/-(\d+)\.\w+$/.exec(path)?.[1]));
  return Math.max(0, ...numbers) + 1;
}

/** Returns the class of a collected example by its folder; null if there is none. */
export function classOf({ path }: OwnFile): string | null {
  const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
  return folder === "" ? null : folder;
}

/** Returns a picture as the file of the class. */
export function pictureFile(picture: Blob, name: string, number: number): OwnFile {
  return fileAt(name, number, picture.type === "image/png" ? "png" : "jpg", picture, picture.type);
}

/** Returns a recording as the file of the class. */
export function soundFile(recording: Blob, name: string, number: number): OwnFile {
  return fileAt(name, number, "wav", recording, "audio/wav");
}

/**
 * Returns a text as a file: in the folder of its class, alone without one, or as a table of one row, by what the task
 * reads.
 */
export function textFile(rule: TextSpec, text: string, name: string, number: number): OwnFile {
  const { text_column, label_column, delimiter } = rule;
  if (rule.label === null) return fileAt(null, number, "txt", text, "text/plain");
  if (text_column === null) return fileAt(name, number, "txt", text, "text/plain");
  const rows = [
    [text_column, label_column ?? ""],
    [text, name],
  ];
  const table = rows.map((row) => row.map(quoted).join(delimiter)).join("\n");
  return fileAt(null, number, "csv", `${table}\n`, "text/csv");
}

function quoted(cell: string): string {
  return `"${cell.replaceAll('"', '""')}"`;
}

function fileAt(
  folder: string | null,
  number: number,
  ending: string,
  part: BlobPart,
  type: string,
): OwnFile {
  const name = `collected-${number}.${ending}`;
  return { path: folder === null ? name : `${folder}/${name}`, file: new File([part], name, { type }) };
}
