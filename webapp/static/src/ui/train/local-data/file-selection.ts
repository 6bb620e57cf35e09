/** What a volunteer chose, as paths and files: from a file input, or dropped onto the page. */

import type { OwnFile } from "../../../core/messages/data-reader";

/** Files that systems leave in folders; nobody chose them. */
const SYSTEM = /(^|\/)(\.[^/]*|__MACOSX|Thumbs\.db|desktop\.ini)(\/|$)/i;

/** The files of an input; those of a folder come with their path inside it. */
export function fromInput(list: Iterable<File>): OwnFile[] {
  return visible([...list].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
}

/** The files of a drop, folders walked through. Call it within the drop's event, or the browser forgets them. */
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

/** A reader gives a part of a folder at a time, and nothing at its end. */
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
 * `chosen` with `found` added. `folder`, where given, is the class of all of `found`: they count as lying in a folder
 * of that name. The same file twice is there once; another file of the same path gets a path of its own.
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

/** A path at which `file` can be added; null where it is there already. */
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
