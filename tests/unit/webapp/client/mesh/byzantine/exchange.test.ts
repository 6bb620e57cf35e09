import { afterEach, describe, expect, test } from "vitest";
import type { AgreedRound } from "../../../../../../webapp/static/src/client/mesh/byzantine/exchange";
import type { AveragingWorker } from "../../../../../../webapp/static/src/client/workers/averaging-worker";
import { sha256, toHex } from "../../../../../../webapp/static/src/core/crypto/bytes";
import { isProven } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/adoption";
import type { TurnSaid } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/evidence/ban-evidence";
import { EvidenceBuilder } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/evidence/building";
import { convict } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/evidence/conviction";
import { present } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/membership";
import { rolesOf } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/roles";
import { stateDigest } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/state";
import { ByzantineCompany, type Lie, rulesOf, TASK, updateOf, VALUES } from "./members";

let companies: ByzantineCompany[] = [];
afterEach(() => {
  for (const company of companies) company.close();
  companies = [];
});

async function company(count: number): Promise<ByzantineCompany> {
  const made = await ByzantineCompany.of(count);
  companies.push(made);
  return made;
}

/** Returns the outcome that all had, to the last bit. */
function same(outcomes: readonly AgreedRound[]): AgreedRound {
  const [first] = outcomes as [AgreedRound];
  for (const one of outcomes) {
    expect(stateDigest(one.state)).toBe(stateDigest(first.state));
    expect(one.weights).toEqual(first.weights);
    expect(one.slots).toEqual(first.slots);
  }
  return first;
}

/** Changes what a worker answers to a question. */
function changing(type: string, change: (answer: Record<string, unknown>) => object): Lie {
  return (worker) => {
    const ask = worker.ask.bind(worker) as (question: { readonly type: string }) => Promise<object>;
    const changed = async (question: { readonly type: string }) => {
      const answer = await ask(question);
      return question.type === type ? { ...answer, ...change(answer as Record<string, unknown>) } : answer;
    };
    return Object.assign(Object.create(worker), { ask: changed }) as AveragingWorker;
  };
}

const wrongMean = changing("make_mean", ({ bytes }) => {
  const moved = new Float32Array((bytes as Uint8Array).slice().buffer).map((value) => value + 0.5);
  return { bytes: new Uint8Array(moved.buffer) };
});
const wrongNumbers = changing("check_means", ({ products }) => ({
  products: (products as readonly number[]).map((product) => product + 0.25),
}));

describe("A Byzantine round of pages", () => {
  test("ends with the same bits for all, twice, and with a proof of it", async () => {
    const members = await company(4);
    const rules = rulesOf();
    const begin = await members.begin(rules);
    const outcome = same(await members.play(rules, begin));
    expect(outcome.state.round).toBe(1);
    expect(outcome.state.weights).toBe(toHex(await sha256(outcome.weights)));
    expect(await isProven({ task: TASK, run: rules.run }, begin.state, outcome.state, outcome.proof)).toBe(
      true,
    );
    // Nesterov's first step: rate times (1 + momentum) of the mean, which no radius cuts here.
    const moved = new Float32Array(outcome.weights.buffer);
    const updates = [0, 1, 2, 3].map(updateOf);
    for (let i = 0; i < VALUES; i += 100) {
      const mean = updates.reduce((sum, update) => sum + (update[i] as number), 0) / 4;
      expect(moved[i]).toBeCloseTo(0.5 * 1.9 * mean, 6);
    }
    expect(rolesOf(outcome.state, 1).audits.size).toBe(1);
    const second = same(await members.play(rules, outcome));
    expect(second.state.round).toBe(2);
    const known = { task: TASK, run: rules.run };
    expect(await isProven(known, outcome.state, second.state, second.proof)).toBe(true);
  });

  test("measures a radius and leaves the weights as they are", async () => {
    const members = await company(3);
    const rules = rulesOf({ radius: null });
    const begin = await members.begin(rules);
    const outcome = same(await members.play(rules, begin));
    expect(outcome.weights).toEqual(begin.weights);
    expect(outcome.slots).toHaveLength(0);
    expect(outcome.state.radius).toBeGreaterThan(0.0005);
    expect(outcome.state.radius).toBeLessThan(0.005);
  });

  test.each([
    ["wrong-mean", wrongMean],
    ["wrong-check", wrongNumbers],
  ] as const)("bans a member for %s, and its mean never counts", async (why, lie) => {
    const members = await company(4);
    const rules = rulesOf({ patience: 1.5 });
    const begin = await members.begin(rules);
    const outcome = same(await members.play(rules, begin, new Map([[3, lie]])));
    const liar = members.peers[3]?.client as string;
    const identity = members.identities().get(liar) as string;
    const builder = new EvidenceBuilder(TASK, rules.run, liar, identity);
    for (const { client } of members.peers.slice(0, 3)) {
      expect(members.removed.get(client)).toEqual([{ client: liar, why }]);
      const said = members.convicting.get(client) as TurnSaid;
      const evidence = await builder.removed(why, said, (digest) => members.find(client, digest));
      expect(evidence && (await convict(evidence))).toMatchObject({ kind: why, client: liar, identity });
    }
    expect(outcome.state.membership.banned).toEqual([identity]);
  });

  test("goes on without a member that is gone, and does not ban it", async () => {
    const members = await company(4);
    const rules = rulesOf({ patience: 1, seconds: 3 });
    const begin = await members.begin(rules);
    const outcome = same(await members.play(rules, begin, new Map([[3, null]])));
    expect(outcome.state.membership.banned).toEqual([]);
    expect(present(outcome.state.membership, 2)).not.toContain(members.peers[3]?.client);
  });
});
