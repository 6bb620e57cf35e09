import { describe, expect, test } from "vitest";
import type { MeshView } from "../../../../../../webapp/static/src/client/mesh/view";
import {
  type ConnectionState,
  NO_CONNECTION,
} from "../../../../../../webapp/static/src/protocol/client/connection";
import { INITIAL, type MemberState } from "../../../../../../webapp/static/src/protocol/mesh/member";
import { type MemberWork, NO_WORK } from "../../../../../../webapp/static/src/protocol/mesh/member-work";
import type { GroupOrder } from "../../../../../../webapp/static/src/protocol/wire/mesh";
import { meshStatus } from "../../../../../../webapp/static/src/ui/train/mesh/status";
import {
  dotsOf,
  linesOf,
  rowsOf,
  speedOf,
  summaryOf,
} from "../../../../../../webapp/static/src/ui/train/mesh/view";

const ME = "00000000000000aa";
const BO = "00000000000000bb";
const CY = "00000000000000cc";

const order: GroupOrder = {
  type: "group",
  round: 3,
  group: 1024,
  members: [ME, BO, CY],
  bounds: [0, 10],
  exchange: "full",
  precision: "float16",
  subject: "changes",
  reducer: "mean",
  least: 2,
  most_weight: 1e6,
  quorum: 2,
  patience: 5,
  seconds: 60,
};
const entered: MemberState["entered"] = {
  type: "entered",
  task: "digits",
  client: ME,
  bundle: "b".repeat(64),
  run: "c".repeat(64),
  round: 2,
  version: 2,
  weights: "a".repeat(64),
  outer: { kind: "fedavg", learning_rate: 1, momentum: 0 },
  ice: [],
  byzantine: null,
};
const ready: MemberState["ready"] = {
  type: "ready",
  backend: "wasm",
  step_ms: 3,
  examples: 0,
  program: null,
};
const member = (client: string) => ({
  client,
  identity: new Uint8Array(32),
  kind: "browser" as const,
  backend: "wasm",
  ways: ["webrtc" as const],
  address: null,
  round: 2,
  holds: null,
});
const at = (state: ConnectionState) => ({ connection: { ...NO_CONNECTION, state } });
const inHand = (parts: Partial<MemberWork>) => ({ inHand: { ...NO_WORK, ...parts } });
const link = (client: string, way: "webrtc" | "relay" | null) => ({
  client,
  way,
  seconds: 0.012,
  rate: 0,
  sentBytes: 0,
  heardBytes: 0,
});

function view(machine: Partial<MemberState>, rest: Partial<MeshView> = {}): MeshView {
  return {
    machine: { ...INITIAL, ...at("open"), entered, ready, ...machine },
    task: null,
    taskAt: 0,
    members: [ME, BO, CY].map(member),
    links: [link(BO, "webrtc"), link(CY, "relay")],
    strangers: [],
    group: null,
    serverless: null,
    byzantine: null,
    examples: 0,
    progress: null,
    loaded: null,
    notice: null,
    retryAt: null,
    problem: null,
    ...rest,
  };
}

describe("What happens, in words", () => {
  test("before the start, and after a stop", () => {
    expect(meshStatus(view({ ...at("closed") }), 0).line).toBe("Ready when you are");
    expect(meshStatus(view({ ...at("closed") }), 0, 0).line).toBe("Choose your examples first");
    const left = view({ ...at("closed"), enter: {} as MemberState["enter"], averaged: 2 });
    expect(meshStatus(left, 0).hint).toBe("Your device averaged in 2 rounds.");
  });

  test("while averaging it says through whom the bytes go", () => {
    const relayed = meshStatus(view(inHand({ group: order })), 0);
    expect(relayed.line).toBe("Averaging with 2 others");
    expect(relayed.hint).toContain("With 1 other through the server, sealed");
    const direct = meshStatus(
      view(inHand({ group: order }), { links: [link(BO, "webrtc"), link(CY, "webrtc")] }),
      0,
    );
    expect(direct.hint).toContain("from device to device");
  });

  test("a group goes on while the server is away", () => {
    const away = meshStatus(view({ ...at("lost"), ...inHand({ group: order }) }, { retryAt: 2000 }), 0);
    expect(away.line).toBe("Server away: trying again in 2 s");
    expect(away.hint).toBe("Your group continues without it: 1 direct link to others stands.");
  });

  test("peers go on while the server is away, where one of them can lead", () => {
    const serverless = { peers: [BO, CY], finding: null };
    const members = [member(ME), member(BO), { ...member(CY), kind: "peer" as const }];
    const away = (rest: Partial<MeshView>) => meshStatus(view({ ...at("lost") }, { retryAt: 0, ...rest }), 0);
    expect(away({ serverless, members }).hint).toBe(
      "The peers continue without it once more than half of those of the last round are here: 2 others are.",
    );
    expect(away({ serverless }).hint).toContain("Nothing is lost");
    expect(away({ serverless: { ...serverless, peers: [BO] }, members }).hint).toContain("Nothing is lost");
  });

  test("a round of the peers says that it is one, and who measured the last", () => {
    const evaluation = {
      type: "evaluation" as const,
      round: 4,
      version: 3,
      examples: 40,
      loss: 0.75,
      sums: [],
    };
    const serverless = { peers: [BO, CY], finding: { client: BO, evaluation } };
    const plan = { round: 5 } as MemberWork["plan"];
    const machine = { ...at("lost"), byPeers: true, ...inHand({ plan }) };
    const measured = "Participant turquoise llama measured the weights of round 4: loss 0.75 on 40 examples.";
    const training = meshStatus(view(machine, { serverless }), 0);
    expect([training.line, training.hint]).toEqual([
      "Training: fetching weights and examples",
      `Round 5, without the server. ${measured}`,
    ]);
    const done = { plan, trained: {} as MemberWork["trained"] };
    expect(meshStatus(view({ ...machine, ...inHand(done) }), 0).hint).toBe(
      "Round 5, without the server. The peer that leads the round will assign your group soon.",
    );
    expect(meshStatus(view({ ...machine, ...inHand({ ...done, group: order }) }), 0)).toMatchObject({
      line: "Averaging with 2 others",
      hint: "Round 5, without the server.",
    });
    const own = { ...serverless, finding: { client: ME, evaluation } };
    expect(meshStatus(view(machine, { serverless: own }), 0).hint).toContain("Your device measured");
    expect(meshStatus(view({}, { serverless }), 0).hint).not.toContain("measured");
  });

  test("what came of the last group stays to be read", () => {
    const group = { order, reason: null };
    const outcome = { survivors: [0, 1, 2], fraction: 0.75, seconds: 0.4, holders: 2 };
    expect(meshStatus(view({}, { group: { ...group, outcome } }), 0).hint).toBe(
      "Round 3: you and 1 other have the same new weights, with 75.0\u202f% of what all trained on.",
    );
    const alone = { ...group, outcome: { ...outcome, holders: 0 } };
    expect(meshStatus(view({}, { group: alone }), 0).hint).not.toContain("Round 3: you");
    const failed = { ...group, outcome: null, reason: "Too few are left." };
    expect(meshStatus(view({}, { group: failed }), 0).hint).toBe(
      "No result in the last group: Too few are left.",
    );
  });
});

describe("The membership where members check each other", () => {
  const nothing = {
    standing: null,
    checking: null,
    findings: [],
    banned: 0,
    evidence: [],
    removed: [],
    problem: null,
  };
  const seated = { ...nothing, standing: { type: "seat" as const } };

  test("says what this device checks", () => {
    const checking = { target: BO, round: 4, validator: ME, second: "" };
    const plan = { round: 5 } as MemberWork["plan"];
    const status = meshStatus(view(inHand({ plan }), { byzantine: { ...seated, checking } }), 0);
    expect(status.line).toBe("Checking the work of participant turquoise llama");
    expect(status.hint).toBe(
      "Round 5. Your device does the work of round 4 again and compares. Your device has a seat: its work counts, and it checks that of others.",
    );
  });

  test("says how far a probation is, what was checked, and who was removed", () => {
    const standing = {
      type: "probation" as const,
      rounds: 3,
      neededRounds: 100,
      audits: 1,
      neededAudits: 5,
    };
    const findings = [{ target: BO, round: 4, found: "same" as const, distance: 0.001 }];
    const removed = [{ client: BO, why: "two-words" as const }];
    const hint = meshStatus(
      view({}, { byzantine: { ...nothing, standing, findings, removed, banned: 1 } }),
      0,
    ).hint;
    expect(hint).toContain("on probation: 3 of 100 rounds; 1 of 5 members found its work right.");
    const unaudited = { ...standing, neededAudits: 0 };
    expect(meshStatus(view({}, { byzantine: { ...nothing, standing: unaudited } }), 0).hint).toContain(
      "on probation: 3 of 100 rounds. Its work",
    );
    expect(hint).toContain("1 participant is banned: its work or statements were proven wrong.");
    expect(hint).toContain("It checked the work of another participant once.");
    expect(hint).toContain(
      "Participant turquoise llama was removed from a round: it made two different statements about the same thing.",
    );
  });

  test("says why this device could not check another one, and nothing once it has stopped", () => {
    const byzantine = { ...seated, problem: "Out of memory." };
    expect(meshStatus(view({}, { byzantine }), 0).hint).toContain(
      "could not check another participant's work: Out of memory.",
    );
    expect(meshStatus(view({ ...at("closed") }, { byzantine }), 0).hint).not.toContain("seat");
  });
});

describe("What is drawn", () => {
  test("links say how they go, and what is sealed", () => {
    expect(rowsOf(view({}), () => 0).map(({ how }) => how)).toEqual([
      "directly",
      "through the server, sealed",
    ]);
    expect(summaryOf(view({}))).toBe("Linked with 2 of 2 others, one of them through the server, sealed.");
    const relayed = [link(BO, "relay"), link(CY, "relay")];
    expect(summaryOf(view({}, { links: relayed }))).toBe(
      "Linked with 2 of 2 others, all through the server, sealed.",
    );
    const gone = view({}, { members: [member(ME), member(BO)], links: relayed });
    expect(summaryOf(gone)).toContain("Linked with 2 of 2 others");
    expect(rowsOf(gone, () => 0).map(({ name }) => name)).toContain("turquoise llama");
    expect(summaryOf(view({}, { strangers: [CY] }))).toContain("gets no link");
    expect(summaryOf(view({}, { members: [member(ME)], links: [] }))).toBe("Nobody else is here yet.");
  });

  test("links of others come from the server, the own ones from here", () => {
    const reported = [
      { ends: [ME, BO] as const, way: "relay" as const, seconds: 1, rate: 0 },
      { ends: [BO, CY] as const, way: "webrtc" as const, seconds: 1, rate: 0 },
    ];
    const lines = linesOf(view({}), reported, (client) => (client === BO ? 5e6 : 0));
    expect(lines.map(({ ends, way }) => [...ends, way])).toEqual([
      [BO, CY, "webrtc"],
      [ME, BO, "webrtc"],
      [ME, CY, "relay"],
    ]);
    expect(lines[1]?.title).toBe("directly, 5.0 MB/s");
  });

  test("members of the group are marked, and so is this device", () => {
    const dots = dotsOf(view(inHand({ group: { ...order, members: [ME, BO] } })));
    expect(dots.map(({ mine, grouped }) => [mine, grouped])).toEqual([
      [true, true],
      [false, true],
      [false, false],
    ]);
  });

  test("speeds read well", () => {
    expect([speedOf(900), speedOf(12_400), speedOf(2_340_000)]).toEqual(["1 kB/s", "12 kB/s", "2.3 MB/s"]);
  });
});
