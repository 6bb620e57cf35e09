import { expect, test } from "vitest";
import type { Costs } from "../../../../../../webapp/static/src/ui/drafts/plan/cost-preview";
import { costRows, deviceRows } from "../../../../../../webapp/static/src/ui/drafts/plan/cost-preview";
import { schemeChange } from "../../../../../../webapp/static/src/ui/drafts/plan/scheme";
import { mergeTables } from "../../../../../../webapp/static/src/ui/drafts/record";

const STOP = { patience: 3 };
const ROUNDS = {
  name: "cats",
  data: { source: "shards", shards_per_client: 2 },
  training: { epochs: 2, control_variates: true },
  coordination: {
    scheme: "federated",
    rounds: 7,
    quorum: 2,
    server_optimizer: { name: "fedadam" },
    stop: STOP,
  },
};

test("who chooses work units keeps nothing of rounds, and rules for stopping", () => {
  const task = mergeTables(ROUNDS, schemeChange(ROUNDS, "volunteer"));
  expect(task).toEqual({
    name: "cats",
    data: { source: "shards" },
    training: { epochs: 2 },
    coordination: {
      scheme: "volunteer",
      units: { epochs: 20, assimilation: { name: "vc-asgd" }, trust: { replicas: 2 } },
      stop: STOP,
    },
  });
  expect(task.coordination).toMatchObject({ scheme: "volunteer" });
});

test("who goes back to rounds, of either kind, keeps nothing of work units", () => {
  const units = mergeTables(ROUNDS, schemeChange(ROUNDS, "volunteer"));
  for (const scheme of ["federated", "decentralized"]) {
    const task = mergeTables(units, schemeChange(units, scheme));
    expect(task.coordination).toEqual({
      scheme,
      rounds: 20,
      min_available_clients: 2,
      deadline: 120,
      stop: STOP,
    });
    expect(task.coordination).not.toMatchObject({ scheme: "volunteer" });
  }
});

test("who goes back to a server that adds up keeps nothing of peers that check each other", () => {
  const coordination = { rounds: 7, averaging: { patience: 3 }, byzantine: {} };
  const mesh = {
    name: "cats",
    training: { steps: 10 },
    coordination: { scheme: "decentralized", ...coordination },
  };
  const change = schemeChange(mesh, "federated");
  expect(change).toEqual({ coordination: { averaging: null, byzantine: null } });
});

test("tables that a plan does not have are not begun for what they do not say", () => {
  const plain = { name: "cats", coordination: { scheme: "federated", rounds: 7 } };
  expect(Object.keys(schemeChange(plain, "volunteer"))).toEqual(["coordination"]);
  expect(schemeChange(plain, "federated")).toEqual({});
});

const COSTS: Costs = {
  volunteers: 5,
  clients: 5,
  rounds: 3,
  examples: 150,
  steps: 39,
  visits: 9,
  once: 1000,
  down: 40,
  up: 40,
  data: 100,
  volunteer_bytes: 2000,
  volunteer_energy: [0.1, 0.2],
  server_out: 800,
  server_in: 800,
  server_bytes: 9000,
  energy: [0.5, 1],
  devices: [
    { device: "phone", backend: "wasm", training: [1, 2], transfer: 0.1, round: [1.1, 2.1], in_time: "some" },
  ],
  notes: [],
  exactness: [],
  units: null,
};

test("costs of work units are told in their words, with how often each is done", () => {
  const units = { ...COSTS, units: { an_epoch: 20, leases: 1.86, seconds: 120 } };
  expect(costRows(units)).toContainEqual(["Work units in an epoch", "20, each done 1.9 times in the mean"]);
  expect(costRows(units).filter(([name]) => /round/.test(name))).toEqual([]);
  expect(deviceRows(units)[0]?.[3]).toBe("slow ones parts");
  expect(costRows(COSTS).filter(([name]) => /unit|epoch/i.test(name))).toEqual([]);
  expect(deviceRows(COSTS)[0]?.[3]).toBe("only fast ones");
});
