import { expect, it } from "vitest";
import { csvRows, trimCell } from "../../../../../webapp/static/src/core/preprocessing/files/csv";
import { decodeTable } from "../../../../../webapp/static/src/core/preprocessing/files/text-file";
import { vectors } from "./vectors";

interface Case {
  readonly bytes: string;
  readonly delimiter: string;
  readonly rows: readonly (readonly string[])[] | null;
}

const bytesOf = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

it.each(vectors<Case>("table_bytes").map((one) => [one.bytes, one] as const))(
  "bytes of a table are read as Python reads them: %s",
  (_, { bytes, delimiter, rows }) => {
    const read = () => csvRows(decodeTable(bytesOf(bytes)), delimiter).map((row) => row.map(trimCell));
    if (rows === null) expect(read).toThrow("neither UTF-8, UTF-16 nor Windows-1252");
    else expect(read()).toEqual(rows);
  },
);
