/** The files that a volunteer chose, with their paths: from a file input, or dropped onto the page. */

import type { OwnFile } from "../../../core/messages/data-reader";

/** Files that operating systems put into folders. */
const SYSTEM = /(^|\/)(\.[^/]*|__MACOSX|Thumbs\.db|desktop\.ini)(\/|$)/i;

/** Returns the files of an input; those of a folder have their path inside it. */
export function fromInput(list: Iterable<File>): OwnFile[] {
  return visible([...list].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
}

/**
 * Returns the files of a drop, with those in folders. Call it within the drop's event, or the browser drops the data.
 */
export async function fromDrop({ items, files }: DataTransfer): Promise<OwnFile[]> {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => !!entry);
  if (entries.length === 0) return fromInput(files);
  const walked = await Promise.all(entries.map((entry) => walk(entry, "")));
  return visible(walked.flat());
}

async function walk(entry: FileSystemEntry, folder: string): Promise<OwnFile[]> {
  const path = folder + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    );
    return [{ path, file }];
  }
  const inside = await children((entry as FileSystemDirectoryEntry).createReader());
  return (await Promise.all(inside.map((one) => walk(one, `${path}/`)))).flat();
}

/** Reads all entries: a reader returns a part of a folder at a time, and none at its end. */
async function children(reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> {
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return all;
    all.push(...some);
  }
}

function visible(files: readonly OwnFile[]): OwnFile[] {
  return files.filter(({ path }) => !SYSTEM.test(path));
}

/**
 * Adds files to `chosen`. `folder`, if given, is the class of all added files, as if they were in a folder of that
 * name. A file chosen twice is added once; another file with the same path gets a different path.
 */
export function addFiles(
  chosen: readonly OwnFile[],
  added: readonly OwnFile[],
  folder: string | null,
): OwnFile[] {
  const files = new Map(chosen.map((one) => [one.path, one.file]));
  for (const { path, file } of added) {
    const target = folder === null ? path : `${folder}/${path.split("/").pop() ?? path}`;
    const free = freePath(files, target, file);
    if (free !== null) files.set(free, file);
  }
  return [...files].map(([path, file]) => ({ path, file }));
}

/** Returns a path at which `file` can be added; null if it was added before. */
function freePath(files: ReadonlyMap<string, File>, target: string, file: File): string | null {
  const dot = target.lastIndexOf(".");
  const [stem, end] =
    dot > target.lastIndexOf("/") ? [target.slice(0, dot), target.slice(dot)] : [target, ""];
  for (let number = 1; ; number++) {
    const path = number === 1 ? target : `${stem} (${number})${end}`;
    const there = files.get(path);
    if (there === undefined) return path;
    if (there.size === file.size && there.lastModified === file.lastModified) return null;
  }
}
