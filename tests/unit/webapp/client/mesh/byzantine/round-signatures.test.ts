import { beforeEach, expect, test } from "vitest";
import { RoundSignatures } from "../../../../../../webapp/static/src/client/mesh/byzantine/round-signatures";
import { toHex, utf8 } from "../../../../../../webapp/static/src/core/crypto/bytes";
import { type Identity, makeIdentity } from "../../../../../../webapp/static/src/core/crypto/keys";
import {
  NOTHING_BEFORE,
  type Statement,
  type TurnOfRound,
} from "../../../../../../webapp/static/src/core/crypto/statements";

const TURN: TurnOfRound = { task: "digits", run: "ab".repeat(32), round: 7, turn: 1, basis: "cd".repeat(32) };
const ATTEMPT = { round: 7, group: 1 };

let ann: Identity;
let bo: Identity;
beforeEach(async () => {
  const random = (count: number) => crypto.getRandomValues(new Uint8Array(count));
  [ann, bo] = await Promise.all([makeIdentity(random), makeIdentity(random)]);
});

function statementOf({ publicKey }: Identity, body = "pieces"): Statement {
  return { identity: publicKey, phase: "commit", before: NOTHING_BEFORE, body: utf8(body) };
}

test("a statement is heard with those who passed it on", async () => {
  const [ours, theirs, others] = [ann, bo, bo].map((identity) => new RoundSignatures(identity, ATTEMPT)) as [
    RoundSignatures,
    RoundSignatures,
    RoundSignatures,
  ];
  const statement = statementOf(ann);
  const said = await ours.say(TURN, statement);
  expect(said).toMatchObject({ type: "say", round: 7, group: 1, turn: 1, passed_on: [] });
  expect(await theirs.received(TURN, said)).toEqual({ statement, signers: [] });
  const passedOn = await theirs.passOn(TURN, statement);
  const heard = passedOn && (await others.received(TURN, passedOn));
  expect(heard).toEqual({ statement, signers: [toHex(bo.publicKey)] });
  expect(others.signed(TURN, [statement, statementOf(bo)])).toEqual([said.said]);
});

test("what nobody said is not heard, and false signatures of others count nothing", async () => {
  const [ours, theirs] = [new RoundSignatures(ann, ATTEMPT), new RoundSignatures(bo, ATTEMPT)];
  const said = await ours.say(TURN, statementOf(ann));
  const forged = { ...said, said: { ...said.said, body: utf8("other") } };
  expect(await theirs.received(TURN, forged)).toBeNull();
  expect(await theirs.received({ ...TURN, turn: 2 }, said)).toBeNull();
  const forgedRelay = { identity: bo.publicKey, signature: new Uint8Array(64) };
  const heard = await theirs.received(TURN, { ...said, passed_on: [forgedRelay] });
  expect(heard?.signers).toEqual([]);
  expect(await theirs.passOn(TURN, statementOf(bo, "never heard"))).toBeNull();
});

test("a member that says more than anybody has to say is not heard any more", async () => {
  const [ours, theirs] = [new RoundSignatures(ann, ATTEMPT), new RoundSignatures(bo, ATTEMPT)];
  const heard: boolean[] = [];
  for (let number = 0; number < 13; number++) {
    const long = `${number} ${"x".repeat(48 * 1024 - 8)}`;
    heard.push((await theirs.received(TURN, await ours.say(TURN, statementOf(ann, long)))) !== null);
  }
  expect(heard.filter(Boolean)).toHaveLength(11);
  expect(heard.at(-1)).toBe(false);
});

test("a few statements of later turns wait for each link", async () => {
  const ours = new RoundSignatures(ann, ATTEMPT);
  const said = await ours.say(TURN, statementOf(ann));
  for (let number = 0; number < 100; number++) ours.keepEarly("ann", said);
  ours.keepEarly("bo", said);
  expect(ours.takeEarly().map(([client]) => client)).toEqual([...Array(64).fill("ann"), "bo"]);
  expect(ours.takeEarly()).toEqual([]);
});
