import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fromHex } from "../../../../../../webapp/static/src/core/crypto/bytes";
import {
  type Conviction,
  convict,
} from "../../../../../../webapp/static/src/protocol/mesh/byzantine/evidence/conviction";

interface Case {
  readonly name: string;
  readonly hex: string;
  readonly convicts?: Conviction;
  readonly reason?: string;
}

const golden = JSON.parse(readFileSync("tests/contract/vectors/evidence.json", "utf8")) as readonly Case[];
const guilty = golden.filter(({ convicts }) => convicts);

describe("evidence against a member, as Python judges it", () => {
  test.each(guilty)("$name convicts", async ({ hex, convicts }) => {
    expect(await convict(fromHex(hex))).toEqual(convicts);
    expect(await convict(fromHex(hex), convicts?.task, convicts?.run)).toEqual(convicts);
  });

  test.each(golden.filter(({ reason }) => reason))("$name convicts nobody", async ({ hex, reason }) => {
    await expect(convict(fromHex(hex))).rejects.toThrow(reason);
  });

  test.each(guilty)("$name convicts nobody in another task or run", async ({ hex }) => {
    await expect(convict(fromHex(hex), "other")).rejects.toThrow("another task or run");
    await expect(convict(fromHex(hex), undefined, "cd".repeat(32))).rejects.toThrow("another task or run");
  });

  test.each(guilty)("$name convicts nobody once a byte is altered, missing or added", async ({ hex }) => {
    const bytes = fromHex(hex);
    for (let place = 0; place < bytes.length; place += 7) {
      const altered = Uint8Array.from(bytes);
      altered[place] = (altered[place] as number) ^ (1 << (place % 8));
      await expect(convict(altered)).rejects.toThrow();
    }
    await expect(convict(bytes.subarray(0, -1))).rejects.toThrow("no evidence");
    await expect(convict(Uint8Array.of(...bytes, 0))).rejects.toThrow("no evidence");
  });
});
