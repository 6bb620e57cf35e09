import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fromHex, toHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import { keyPair } from "../../../../../webapp/static/src/core/crypto/keys";
import { SealedLink } from "../../../../../webapp/static/src/core/crypto/sealed-link";

interface Golden {
  readonly peers: readonly { readonly client: string; readonly private: string; readonly public: string }[];
  readonly links: readonly {
    readonly own: string;
    readonly other: string;
    readonly frames: readonly { readonly frame: string; readonly sealed: string }[];
  }[];
}

const golden = JSON.parse(readFileSync("tests/contract/vectors/sealed_link.json", "utf8")) as Golden;

async function end(own: string, other: string): Promise<SealedLink> {
  const peer = (client: string) => golden.peers.find((one) => one.client === client);
  const keys = await keyPair(fromHex(peer(own)?.private ?? ""));
  const made = await SealedLink.make({ own, other }, keys, fromHex(peer(other)?.public ?? ""));
  if (made === null) throw new Error("The keys are no sound ones.");
  return made;
}

describe.each(golden.links)("What $own seals for $other", ({ own, other, frames }) => {
  test("is what Python seals", async () => {
    const link = await end(own, other);
    for (const { frame, sealed } of frames) expect(toHex(await link.seal(fromHex(frame)))).toBe(sealed);
  });

  test("is opened by the other end", async () => {
    const link = await end(other, own);
    for (const { frame, sealed } of frames)
      expect(toHex((await link.open(fromHex(sealed))) ?? new Uint8Array(1))).toBe(frame);
  });

  test("is refused out of order, and by the end that sealed it", async () => {
    const [first, second] = frames.map(({ sealed }) => fromHex(sealed));
    if (!first || !second) throw new Error("Two frames are needed.");
    expect(await (await end(other, own)).open(second)).toBeNull();
    expect(await (await end(own, other)).open(first)).toBeNull();
  });
});

test("nobody agrees on zeros", async () => {
  const keys = await keyPair(new Uint8Array(32).fill(7));
  expect(await SealedLink.make({ own: "a", other: "b" }, keys, new Uint8Array(32))).toBeNull();
});
