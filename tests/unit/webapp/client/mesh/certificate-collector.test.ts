import { expect, test } from "vitest";
import { CertificateCollector } from "../../../../../webapp/static/src/client/mesh/certificate-collector";
import { certified } from "../../../../../webapp/static/src/core/crypto/certificates";
import { makeIdentity } from "../../../../../webapp/static/src/core/crypto/keys";

const CLIENTS = ["0000000000000003", "0000000000000001", "0000000000000002"];
const ENDING = {
  bundle: "b".repeat(64),
  run: "e".repeat(64),
  round: 4,
  group: 1024,
  weights: "a".repeat(64),
  survivors: CLIENTS,
};

async function peers() {
  const random = (count: number) => crypto.getRandomValues(new Uint8Array(count));
  const made = await Promise.all(
    CLIENTS.map(async (client) => ({ client, identity: await makeIdentity(random) })),
  );
  const keys = new Map(made.map(({ client, identity }) => [client, identity.publicKey]));
  return Promise.all(
    made.map(async ({ client, identity }) => {
      const attesting = new CertificateCollector("digits", ENDING, keys, 2);
      return { client, attesting, attest: await attesting.sign(client, identity) };
    }),
  );
}

test("the signatures of more than half of the survivors are a certificate, once", async () => {
  const [ann, bo, cy] = await peers();
  if (!ann || !bo || !cy) throw new Error("Three peers are needed.");
  const certificate = await ann.attesting.addSignature(bo.client, bo.attest);
  if (certificate === null) throw new Error("Two of three are more than half.");
  expect(await certified(certificate, "digits")).toBe(true);
  expect(certificate.survivors).toEqual([...CLIENTS].sort());
  expect(await ann.attesting.addSignature(cy.client, cy.attest)).toBeNull();
});

test("a signature of somebody else, or of other weights, counts for nothing", async () => {
  const [ann, bo, cy] = await peers();
  if (!ann || !bo || !cy) throw new Error("Three peers are needed.");
  expect(await ann.attesting.addSignature(cy.client, bo.attest)).toBeNull();
  expect(await ann.attesting.addSignature(bo.client, { ...bo.attest, weights: "c".repeat(64) })).toBeNull();
  expect(await ann.attesting.addSignature("00000000000000ff", bo.attest)).toBeNull();
  expect(await ann.attesting.addSignature(bo.client, bo.attest)).not.toBeNull();
});
