import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fromHex, toHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import type { Identity } from "../../../../../webapp/static/src/core/crypto/keys";
import {
  areTwoWords,
  coinCommitment,
  heardDigest,
  isRelayed,
  isSaid,
  NOTHING_BEFORE,
  relay,
  say,
  signedBytes,
  statementDigest,
  type TurnOfRound,
  tossedCoin,
} from "../../../../../webapp/static/src/core/crypto/statements";

interface Golden {
  readonly private: string;
  readonly turn: TurnOfRound;
  readonly statements: readonly Readonly<
    Record<"phase" | "before" | "body" | "identity" | "signed" | "signature" | "digest" | "relayed", string>
  >[];
  readonly salt: string;
  readonly coins: Readonly<Record<string, string>>;
  readonly commitments: Readonly<Record<string, string>>;
  readonly tossed: string;
  readonly heard: string;
}

const golden = JSON.parse(readFileSync("tests/contract/vectors/statements.json", "utf8")) as Golden;
const { turn } = golden;
const identity: Identity = {
  publicKey: fromHex(golden.statements[0]?.identity ?? ""),
  privateKey: fromHex(golden.private),
};

test.each(golden.statements)("what is said in $phase is what Python says", async (told) => {
  const word = { phase: told.phase, before: fromHex(told.before), body: fromHex(told.body) };
  const said = await say(identity, turn, word);
  expect(toHex(signedBytes(turn, said))).toBe(told.signed);
  expect(toHex(said.signature)).toBe(told.signature);
  expect(toHex(statementDigest(turn, said))).toBe(told.digest);
  const passedOn = await relay(identity, turn, said);
  expect(toHex(passedOn)).toBe(told.relayed);
  expect(await isRelayed(turn, said, said.identity, passedOn)).toBe(true);
  expect(await isRelayed({ ...turn, turn: 2 }, said, said.identity, passedOn)).toBe(false);
  expect(await isSaid(turn, said)).toBe(true);
  expect(await isSaid({ ...turn, turn: 2 }, said)).toBe(false);
});

test("two words of one member about one phase are evidence, a repeated or a forged one is not", async () => {
  const word = { phase: "commit", before: NOTHING_BEFORE, body: fromHex("00") };
  const said = await say(identity, turn, word);
  const other = await say(identity, turn, { ...word, body: fromHex("01") });
  expect(await areTwoWords(turn, said, other)).toBe(true);
  expect(await areTwoWords(turn, said, await say(identity, turn, word))).toBe(false);
  expect(await areTwoWords(turn, said, await say(identity, turn, { ...word, phase: "made" }))).toBe(false);
  expect(await areTwoWords(turn, said, { ...said, body: fromHex("01") })).toBe(false);
});

test("commitments, the toss and what was heard are Python's", () => {
  const coins = new Map(Object.entries(golden.coins).map(([client, coin]) => [client, fromHex(coin)]));
  for (const [client, coin] of coins) {
    expect(toHex(coinCommitment(client, coin, fromHex(golden.salt)))).toBe(golden.commitments[client]);
  }
  expect(toHex(tossedCoin(coins))).toBe(golden.tossed);
  expect(toHex(heardDigest([...coins.values()]))).toBe(golden.heard);
});
