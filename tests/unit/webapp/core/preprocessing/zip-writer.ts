/** Zips whose members are stored as they are. */

const encoder = new TextEncoder();

/** A record's bytes: its numbers by width, then texts. */
function record(
  numbers: readonly (readonly [value: number, bytes: 2 | 4])[],
  ...parts: Uint8Array[]
): Uint8Array {
  const head = new DataView(new ArrayBuffer(numbers.reduce((sum, [, bytes]) => sum + bytes, 0)));
  let at = 0;
  for (const [value, bytes] of numbers) {
    if (bytes === 2) head.setUint16(at, value, true);
    else head.setUint32(at, value, true);
    at += bytes;
  }
  return joined([new Uint8Array(head.buffer), ...parts]);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** A zip of these files, in this order. Checksums are left at 0: nothing here reads them. */
export function zipped(files: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
  const locals: Uint8Array[] = [];
  const entries: Uint8Array[] = [];
  let at = 0;
  for (const [path, text] of Object.entries(files)) {
    const [name, content] = [encoder.encode(path), encoder.encode(text)];
    const said = [
      [0, 4],
      [content.length, 4],
      [content.length, 4],
      [name.length, 2],
      [0, 2],
    ] as const;
    const local = record([[0x04034b50, 4], [20, 2], [0, 2], [0, 2], [0, 4], ...said], name, content);
    const more = [
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 4],
      [at, 4],
    ] as const;
    entries.push(record([[0x02014b50, 4], [20, 2], [20, 2], [0, 2], [0, 2], [0, 4], ...said, ...more], name));
    locals.push(local);
    at += local.length;
  }
  const directory = joined(entries);
  const count = entries.length;
  const end = record([
    [0x06054b50, 4],
    [0, 4],
    [count, 2],
    [count, 2],
    [directory.length, 4],
    [at, 4],
    [0, 2],
  ]);
  return joined([...locals, directory, end]);
}
