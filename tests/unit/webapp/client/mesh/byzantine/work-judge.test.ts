import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AgreedRound } from "../../../../../../webapp/static/src/client/mesh/byzantine/exchange";
import {
  keepersOf,
  MeshStates,
  type RoundWork,
} from "../../../../../../webapp/static/src/client/mesh/byzantine/mesh-states";
import {
  type JudgedWork,
  type TrainPlan,
  WorkJudge,
} from "../../../../../../webapp/static/src/client/mesh/byzantine/work-judge";
import { WeightCache } from "../../../../../../webapp/static/src/client/mesh/weight-store";
import { WeightTransfer } from "../../../../../../webapp/static/src/client/mesh/weight-transfer";
import type { Bytes } from "../../../../../../webapp/static/src/core/crypto/bytes";
import {
  partNumbers,
  partValues,
} from "../../../../../../webapp/static/src/core/numerics/butterfly/part-values";
import { partSizes } from "../../../../../../webapp/static/src/core/numerics/butterfly/parts";
import { later, UserError } from "../../../../../../webapp/static/src/core/user-messages";
import { partRadius } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/checks";
import { coinSeed } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/drawn-work";
import type { ByzantineRules } from "../../../../../../webapp/static/src/protocol/wire/mesh";
import type { Peer } from "../../transports/mesh";
import { ByzantineCompany, rulesOf, updateOf, VALUES } from "./members";

/** The place of the member that is judged, and of its part; the judge is the first one. */
const TARGET = 1;
const NOWHERE = "ee".repeat(32);

/** A round that was played, and what the first member judges it with. */
interface Played {
  readonly company: ByzantineCompany;
  readonly base: Bytes;
  readonly agreed: AgreedRound;
  readonly fetching: WeightTransfer;
}

let played: Played;
let work: RoundWork;
beforeAll(async () => {
  played = await playedBy(rulesOf());
  work = played.agreed.work;
});
afterAll(() => played.company.close());

async function playedBy(rules: ByzantineRules): Promise<Played> {
  const company = await ByzantineCompany.of(4);
  const begin = await company.begin(rules);
  const [agreed] = (await company.play(rules, begin)) as [AgreedRound];
  const [fetching] = company.peers.map((peer) => serving(peer, company)) as [WeightTransfer];
  return { company, base: begin.weights, agreed, fetching };
}

/** Serves what a member has, and returns what it fetches with. */
function serving(peer: Peer, company: ByzantineCompany): WeightTransfer {
  const transfer = new WeightTransfer(peer.links, company.partsOf(peer.client).contents);
  const hear = peer.hear;
  peer.hear = (from, frame) => {
    if (frame.type === "fetch") void transfer.serve(from, frame);
    else if (frame.type === "weights") transfer.takeChunk(from, frame);
    else hear(from, frame);
  };
  return transfer;
}

/** Trains as the member at this place does. */
function trainingOf(place: number): TrainPlan {
  const { steps } = rulesOf();
  const times = { stepMs: 1, examples: 8, planned: steps, steps };
  const rest = { local: null, change: null, loss: 0, sums: {} };
  const result = { type: "trained", id: 1, update: updateOf(place).buffer, ...rest, ...times };
  return async () => result as unknown as Awaited<ReturnType<TrainPlan>>;
}

/** Returns how the first member judges another one, where the round was as `seen` says. */
async function judged(
  seen: RoundWork,
  train = trainingOf(TARGET),
  { place, from }: { readonly place: number; readonly from: Played } = { place: TARGET, from: played },
  rules = rulesOf(),
): Promise<JudgedWork | null> {
  const { company, base, agreed, fetching } = from;
  const [{ client, links }] = company.peers as [Peer];
  const states = new MeshStates(rules, "digits");
  states.take(agreed.state, agreed.proof, agreed.slots, seen);
  const weights = new WeightCache();
  await weights.keep(base);
  const judge = new WorkJudge({ states, weights, fetching, links, ...company.partsOf(client) });
  const target = company.peers[place]?.client as string;
  return judge.judge(train, { target, round: 1, validator: client, second: "" }, () => true);
}

/** Returns what it finds. */
async function found(...args: Parameters<typeof judged>): Promise<string | undefined> {
  return (await judged(...args))?.finding.found;
}

function target(): string {
  return work.workers[TARGET] as string;
}

function withOne<T>(list: readonly T[], at: number, one: T): readonly T[] {
  return list.map((value, i) => (i === at ? one : value));
}

/** Changes what the target said of one part. */
function saying(seen: RoundWork, kind: "products" | "lengths", part: number, number: number): RoundWork {
  const said = seen.checks.get(target()) ?? { products: [], lengths: [] };
  const changed = { ...said, [kind]: withOne(said[kind], part, number) };
  return { ...seen, checks: new Map([...seen.checks, [target(), changed]]) };
}

/** The target made another mean of its part, of which it says the true numbers. */
async function withWrongMean(): Promise<RoundWork> {
  const { company } = played;
  const { contents } = company.partsOf((company.peers[0] as Peer).client);
  const size = partSizes(VALUES, work.workers.length)[TARGET] as number;
  const mean = partValues(contents.get(work.means[TARGET] as string), size).map((value) => value + 0.5);
  const digest = await contents.keep(1, new Uint8Array(mean.buffer));
  const own = company.partsOf(target()).contents.get(work.pieces.get(target())?.[TARGET] as string);
  const radius = partRadius(work.base.radius, size);
  const numbers = partNumbers([partValues(own, size)], mean, radius, coinSeed(work.coin), TARGET);
  const [product, length] = [numbers.products[0] as number, numbers.lengths[0] as number];
  const moved = { ...work, means: withOne(work.means, TARGET, digest) };
  return saying(saying(moved, "products", TARGET, product), "lengths", TARGET, length);
}

describe("The judge of a worker", () => {
  test("finds true work, numbers and means the same", async () => {
    expect(work.workers).toEqual(played.company.peers.map(({ client }) => client));
    for (const place of [1, 2, 3])
      expect(await found(work, trainingOf(place), { place, from: played })).toBe("same");
  });

  test("finds them the same in a round that measures the radius", async () => {
    const from = await playedBy(rulesOf({ radius: null }));
    expect(from.agreed.work.base.radius).toBe(0);
    expect(await found(from.agreed.work, trainingOf(3), { place: 3, from })).toBe("same");
    from.company.close();
  });

  test("finds other work", async () => {
    expect(await found(work, trainingOf(TARGET + 1))).toBe("other");
  });

  test("says that this device is unable where it cannot do the work, and why", async () => {
    const failing: TrainPlan = async () => {
      throw new UserError(later("A shard is missing."), { lasting: true });
    };
    expect(await found(work, failing)).toBe("unable");
  });

  test("tells how far the work is from its own where a distance is allowed", async () => {
    const rules = { ...rulesOf(), tolerance: { distance: 0.01, cosine: 0.9, blame: 0.1 } };
    const other = await judged(work, trainingOf(TARGET + 1), undefined, rules);
    expect(other?.finding.found).toBe("other");
    expect(other?.distance).toBeGreaterThan(0.1);
    expect((await judged(work, trainingOf(TARGET), undefined, rules))?.distance).toBe(0);
    expect((await judged(work))?.distance).toBeNull();
  });

  test("finds that who committed to no piece did not work", async () => {
    expect(await found({ ...work, pieces: new Map([...work.pieces, [target(), []]]) })).toBe("other");
  });

  test("asks first who was sent a piece, of the target's own part the next worker", () => {
    const [first, , third] = work.workers as [string, string, string];
    expect(keepersOf(work, first)).toEqual([work.workers[1], ...work.workers.slice(1)]);
    expect(keepersOf({ ...work, workers: [third] }, first)).toEqual(work.pieces.get(first)?.map(() => first));
  });

  test.each(["products", "lengths"] as const)("finds false %s of any part", async (kind) => {
    const number = work.checks.get(target())?.[kind][3] as number;
    expect(await found(saying(work, kind, 3, number + 1e-9))).toBe("other");
  });

  test("finds a wrong mean that all numbers hide", async () => {
    expect(await found(await withWrongMean())).toBe("other");
  });

  test("cannot tell numbers where a mean lacks, but a wrong mean of the target", async () => {
    const lacking = (part: number) => ({ ...work, means: withOne(work.means, part, NOWHERE) });
    expect(await found(saying(lacking(TARGET + 1), "products", 3, 7))).toBe("same");
    expect(await found(lacking(TARGET))).toBe("other");
  });

  test("cannot tell a mean where nobody has a piece, but false numbers", async () => {
    const other = work.workers[2] as string;
    const pieces = withOne(work.pieces.get(other) ?? [], TARGET, NOWHERE);
    const lost = (seen: RoundWork) => ({ ...seen, pieces: new Map([...seen.pieces, [other, pieces]]) });
    const wrong = await withWrongMean();
    expect(await found(lost(wrong))).toBe("same");
    expect(await found(lost(saying(wrong, "lengths", 0, 7)))).toBe("other");
  });

  test("judges a newcomer by its work alone", async () => {
    const workers = work.workers.filter((client) => client !== target());
    const lied = saying(await withWrongMean(), "products", 3, 7);
    expect(await found({ ...lied, workers })).toBe("same");
  });
});
