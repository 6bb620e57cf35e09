import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fromHex, toHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import {
  certified,
  type GroupEnding,
  weightsStatement,
} from "../../../../../webapp/static/src/core/crypto/certificates";

interface Golden {
  readonly task: string;
  readonly ending: GroupEnding;
  readonly statement: string;
  readonly signatures: readonly {
    readonly client: string;
    readonly identity: string;
    readonly signature: string;
  }[];
}

const { task, ending, statement, signatures } = JSON.parse(
  readFileSync("tests/contract/vectors/certificates.json", "utf8"),
) as Golden;
const signed = signatures.map(({ client, identity, signature }) => ({
  client,
  identity: fromHex(identity),
  signature: fromHex(signature),
}));
const certificate = { ...ending, signatures: signed };

test("what survivors sign is what Python's sign", () => {
  expect(toHex(weightsStatement(task, ending))).toBe(statement);
});

test("more than half of the survivors certify weights, half of them do not", async () => {
  expect(await certified(certificate, task)).toBe(true);
  expect(await certified({ ...certificate, signatures: signed.slice(1) }, task)).toBe(true);
  expect(await certified({ ...certificate, signatures: signed.slice(2) }, task)).toBe(false);
});

test("one who signs twice counts once, and who is no survivor does not", async () => {
  const [first, second] = signed;
  if (!first || !second) throw new Error("Two signatures are needed.");
  expect(await certified({ ...certificate, signatures: [first, second, second] }, task)).toBe(false);
  const survivors = ending.survivors.filter((one) => one !== first.client);
  expect(await certified({ ...certificate, survivors }, task)).toBe(false);
});

test.each([
  ["another task", certificate, "letters"],
  ["another round", { ...certificate, round: 4 }, task],
  ["another bundle", { ...certificate, bundle: "c".repeat(64) }, task],
  ["another run", { ...certificate, run: "c".repeat(64) }, task],
  ["other weights", { ...certificate, weights: "d".repeat(64) }, task],
])("a certificate does not hold for %s", async (_, changed, of) => {
  expect(await certified(changed, of)).toBe(false);
});
