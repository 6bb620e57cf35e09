import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test, vi } from "vitest";
import { fromHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import { resultCommitment } from "../../../../../webapp/static/src/core/crypto/result-commitment";

interface Case {
  readonly salt: string;
  readonly client: string;
  readonly lease: number;
  readonly update: string;
  readonly commitment: string;
}

const cases = JSON.parse(readFileSync("tests/contract/vectors/commitments.json", "utf8")) as readonly Case[];
const made = ({ salt, client, lease, update }: Case) =>
  resultCommitment(fromHex(salt), client, lease, fromHex(update));

afterEach(() => vi.unstubAllGlobals());

describe.each(["with Web Crypto", "on a page without HTTPS"])("Commitments %s", (where) => {
  test.each(cases)("are those of Python: lease $lease of $client", async (one) => {
    if (where !== "with Web Crypto") vi.stubGlobal("crypto", {});
    expect(await made(one)).toBe(one.commitment);
  });
});

test("a short salt is an error", async () => {
  await expect(
    resultCommitment(new Uint8Array(31), "0123456789abcdef", 1, new Uint8Array(4)),
  ).rejects.toThrow("A salt has 32 bytes, not 31.");
});
