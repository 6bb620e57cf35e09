/** Reads the files of a ZIP archive, such as NumPy's .npz: stored or deflated, located by the central directory. */

import { later } from "../../user-messages";
import { DataProblem } from "../data-problem";

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const STORED = 0;
const DEFLATED = 8;
/** Marks sizes in a ZIP64 extension, which is not supported. */
const TOO_LARGE = 0xffffffff;
const NO_ZIP = later("This is not a zip file, or it is damaged. Create it again");
const decoder = new TextDecoder();

interface ZipEntry {
  readonly name: string;
  readonly method: number;
  readonly packed: number;
  readonly unpacked: number;
  readonly header: number;
}

function broken(): DataProblem {
  return new DataProblem(later("This is no .npz file, or it is damaged. Write it again with numpy.savez"));
}

/** Returns the problem of a file that does not fit into a browser's memory. */
export function tooLarge(size: number, most: number): DataProblem {
  return new DataProblem(
    later(
      "It holds %(size)s MiB, and a browser reads %(most)s MiB at once. Save it as several files, or take part with a peer",
      { size: Math.ceil(size / 2 ** 20), most: most / 2 ** 20 },
    ),
  );
}

/** Returns where the record at the archive's end begins: a comment of any length may follow it. */
function findEnd(view: DataView): number {
  for (let at = view.byteLength - 22; at >= 0 && at > view.byteLength - 22 - 0x10000; at--) {
    if (view.getUint32(at, true) === END) return at;
  }
  throw broken();
}

function entries(bytes: Uint8Array<ArrayBuffer>): ZipEntry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = findEnd(view);
  const members: ZipEntry[] = [];
  let at = view.getUint32(end + 16, true);
  for (let n = view.getUint16(end + 10, true); n > 0; n--) {
    if (view.getUint32(at, true) !== ENTRY) throw broken();
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true)) as [
      number,
      number,
      number,
    ];
    members.push({
      name: decoder.decode(bytes.subarray(at + 46, at + 46 + nameLength)),
      method: view.getUint16(at + 10, true),
      packed: view.getUint32(at + 20, true),
      unpacked: view.getUint32(at + 24, true),
      header: view.getUint32(at + 42, true),
    });
    at += 46 + nameLength + extra + comment;
  }
  return members;
}

async function unpack(bytes: Uint8Array<ArrayBuffer>, entry: ZipEntry): Promise<Uint8Array<ArrayBuffer>> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (entry.packed === TOO_LARGE || entry.unpacked === TOO_LARGE) throw broken();
  if (view.getUint32(entry.header, true) !== LOCAL) throw broken();
  const start =
    entry.header + 30 + view.getUint16(entry.header + 26, true) + view.getUint16(entry.header + 28, true);
  const packed = bytes.slice(start, start + entry.packed);
  if (entry.method === STORED) return packed;
  if (entry.method !== DEFLATED) throw broken();
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return inflate(stream.getReader(), entry.unpacked);
}

/** Inflates to exactly `size` bytes: an archive may lie about its size. */
async function inflate(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  size: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const out = new Uint8Array(size);
  let filled = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (filled + value.length > size) throw broken();
    out.set(value, filled);
    filled += value.length;
  }
  if (filled !== size) throw broken();
  return out;
}

function find(all: readonly ZipEntry[], name: string): ZipEntry {
  const entry = all.find((one) => one.name === name);
  if (entry !== undefined) return entry;
  const there = all.map((one) => `'${one.name.replace(/\.npy$/, "")}'`).join(", ");
  const missing = name.replace(/\.npy$/, "");
  throw new DataProblem(
    there === ""
      ? later("It has no array '%(name)s'; it holds nothing", { name: missing })
      : later("It has no array '%(name)s'; it holds %(there)s", { name: missing, there }),
  );
}

/** A member of an archive, unpacked on demand. */
export interface ZipMember {
  readonly name: string;
  readonly bytes: () => Promise<Uint8Array<ArrayBuffer>>;
}

/** Whether a path leaves the archive's folder, which is not allowed. */
function strays(name: string): boolean {
  return name.startsWith("/") || name.split("/").includes("..") || /[\\:\0]/.test(name);
}

/**
 * Returns all files of an archive, of at most `most` bytes together. Throws DataProblem if it is damaged or larger.
 */
export function members(bytes: Uint8Array<ArrayBuffer>, most: number): ZipMember[] {
  const files = listed(bytes).filter(({ name }) => !name.endsWith("/"));
  if (files.some(({ name }) => strays(name)))
    throw new DataProblem(later("It holds a path that leads elsewhere"));
  const size = files.reduce((sum, { unpacked }) => sum + unpacked, 0);
  if (size > most) throw tooLarge(size, most);
  return files.map((entry) => ({ name: entry.name, bytes: () => whole(bytes, entry) }));
}

function listed(bytes: Uint8Array<ArrayBuffer>): ZipEntry[] {
  try {
    return entries(bytes);
  } catch {
    // Offsets beyond the archive end up here, too.
    throw new DataProblem(NO_ZIP);
  }
}

async function whole(bytes: Uint8Array<ArrayBuffer>, entry: ZipEntry): Promise<Uint8Array<ArrayBuffer>> {
  return unpack(bytes, entry).catch(() => {
    throw new DataProblem(NO_ZIP);
  });
}

/**
 * Returns the named files, of at most `most` bytes together. Throws DataProblem if the archive is damaged, lacks one,
 * or is larger.
 */
export async function unzip(
  bytes: Uint8Array<ArrayBuffer>,
  names: readonly string[],
  most: number,
): Promise<Uint8Array<ArrayBuffer>[]> {
  try {
    const all = entries(bytes);
    const selected = names.map((name) => find(all, name));
    const size = selected.reduce((sum, entry) => sum + entry.unpacked, 0);
    if (size > most) throw tooLarge(size, most);
    return await Promise.all(selected.map((entry) => unpack(bytes, entry)));
  } catch (problem) {
    // Offsets beyond the archive, or bytes that do not inflate.
    throw problem instanceof DataProblem ? problem : broken();
  }
}
