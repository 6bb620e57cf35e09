import { describe, expect, it } from "vitest";
import type { ArraySpec } from "../../../../../webapp/static/src/core/preprocessing/declaration";
import { readNpy } from "../../../../../webapp/static/src/core/preprocessing/files/npy";
import { unzip } from "../../../../../webapp/static/src/core/preprocessing/files/zip";
import { all, golden, read } from "./file-reading";
import { type Golden, vectors } from "./vectors";

interface Case {
  readonly packed: boolean;
  readonly npz: string;
  readonly arrays: Readonly<Record<string, Golden>>;
}

const cases = vectors<Case>("npz");

function bytesOf({ npz }: Case): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(npz), (letter) => letter.charCodeAt(0));
}

/** An array that says that it has this shape, whatever bytes follow. */
function arrayOfShape(shape: string, bytes: number): Uint8Array<ArrayBuffer> {
  const said = `{'descr': '|u1', 'fortran_order': False, 'shape': ${shape}, }\n`;
  const head = [0x93, ...new TextEncoder().encode("NUMPY"), 1, 0, said.length, 0];
  return Uint8Array.from([...head, ...new TextEncoder().encode(said), ...new Uint8Array(bytes)]);
}

/** A task whose one input and one label are the array `name`, as large as it is. */
function spec(name: string, { shape, dtype }: Golden): ArraySpec {
  const stored = [{ shape: shape.slice(1), dtype }];
  return {
    format: "minga-preprocess/1",
    kind: "array",
    inputs: stored,
    labels: stored,
    x: [name],
    y: [name],
  };
}

const named = cases.flatMap((one) =>
  Object.entries(one.arrays).map(
    ([name, array]) => [one.packed ? "packed" : "plain", name, one, array] as const,
  ),
);

describe("an archive of NumPy", () => {
  it.each(named)("%s, gives the array of %s", async (_, name, one, array) => {
    const { understood, report } = await read(spec(name, array), { "a.npz": bytesOf(one) });
    expect(report.problems).toEqual([]);
    expect(golden(await all(understood), "x", [array])).toEqual([array]);
  });

  const [plain] = cases as [Case];
  const int32 = plain.arrays.int32 as Golden;

  it("that would not fit into memory is refused before anything is unpacked", async () => {
    await expect(unzip(bytesOf(plain), ["int32.npy"], 100)).rejects.toThrow(/holds 1 MiB.*several files/);
  });

  it.each([
    ["(-1, 4)", 4],
    ["(-2, -2)", 4],
    ["(4, 0.5)", 2],
    ["(x,)", 4],
  ])("with the impossible shape %s is refused", (shape, bytes) => {
    expect(() => readNpy(arrayOfShape(shape, bytes), "x")).toThrow(/'x' is damaged/);
  });

  it("of which there are two, makes one row of examples", async () => {
    const { report } = await read(spec("int32", int32), { "a.npz": bytesOf(plain), "b.npz": bytesOf(plain) });
    expect(report.examples).toBe(8);
  });

  it.each([
    ["lacks an array", spec("missing", int32), bytesOf(plain), /no array 'missing'; it holds 'bool'/],
    [
      "has another shape",
      { ...spec("int32", int32), inputs: [{ shape: [9], dtype: "int32" }] },
      bytesOf(plain),
      /shape \[3,2\]; the task takes \[9\]/,
    ],
    [
      "holds fractions",
      { ...spec("float64", plain.arrays.float64 as Golden), inputs: [{ shape: [], dtype: "int32" }] },
      bytesOf(plain),
      /holds fractions/,
    ],
    ["is cut short", spec("int32", int32), bytesOf(plain).slice(0, 500), /damaged/],
    ["is no archive", spec("int32", int32), Uint8Array.of(1, 2, 3), /no \.npz file/],
  ] as const)("that %s is refused with a sentence", async (_, wanted, bytes, told) => {
    const { report } = await read(wanted as ArraySpec, { "a.npz": bytes });
    expect(report.examples).toBe(0);
    expect(report.problems[0]?.text).toMatch(told);
  });
});
