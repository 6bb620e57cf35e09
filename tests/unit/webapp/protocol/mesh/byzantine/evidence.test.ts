import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fromHex, toHex } from "../../../../../../webapp/static/src/core/crypto/bytes";
import { hash } from "../../../../../../webapp/static/src/core/crypto/hash";
import { decodeEvidence } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/evidence/ban-evidence";
import { EvidenceBuilder } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/evidence/building";
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

  test.each(guilty)("$name is built of what it contains, to the same bytes", async ({ hex }) => {
    const { task, run, client, identity, kind, turns, contents } = decodeEvidence(fromHex(hex));
    const builder = new EvidenceBuilder(task, run, client, toHex(identity));
    const held = new Map(contents.map((one) => [toHex(hash(one)), new Uint8Array(one)]));
    const [turn] = turns as [(typeof turns)[number]];
    const built =
      kind === "majority"
        ? await builder.convictedByCourt(turns)
        : await builder.removed(kind, turn, (digest) => held.get(digest) ?? null);
    expect(built && toHex(built)).toBe(hex);
    const stranger = new EvidenceBuilder(task, run, client, "00".repeat(32));
    expect(await stranger.removed("absent", turn, () => null)).toBeNull();
    expect(await stranger.convictedByCourt(turns)).toBeNull();
  });
});
