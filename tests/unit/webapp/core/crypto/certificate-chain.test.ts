import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { link } from "../../../../../webapp/static/src/core/crypto/certificate-chain";
import type { Certificate } from "../../../../../webapp/static/src/protocol/wire/mesh";

interface Golden {
  readonly round: number;
  readonly survivors: string;
  readonly signers: string;
}

const { chains } = JSON.parse(readFileSync("tests/contract/vectors/certificates.json", "utf8")) as {
  readonly chains: Record<string, { readonly certificates: Golden[]; readonly linked: number[] }>;
};

function certificate({ round, survivors, signers }: Golden): Certificate {
  const [identity, signature] = [new Uint8Array(32), new Uint8Array(64)];
  return {
    bundle: "b".repeat(64),
    run: "e".repeat(64),
    round,
    group: 0,
    weights: "a".repeat(64),
    survivors: [...survivors],
    signatures: [...signers].map((client) => ({ client, identity, signature })),
  };
}

test.each(Object.entries(chains))("Python links the same certificates: %s", (_, { certificates, linked }) => {
  const links = certificates.map(certificate);
  const last = links.pop();
  if (last === undefined) throw new Error("A case has one certificate or more.");
  expect(link(links, last).map(({ round }) => round)).toEqual(linked);
});
