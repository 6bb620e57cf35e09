import { expect, test } from "vitest";
import {
  cellsOf,
  type KnownClients,
  scoreRows,
  tallyOf,
  trustRow,
  type UnitsBoard,
  unitFigures,
} from "../../../../../webapp/static/src/ui/manage/unit-rows";

const SPREAD = { mean: 0.5, deviation: 0.05, least: 0.4, most: 0.6 };
const UNITS: UnitsBoard = {
  epoch: 3,
  epochs: 40,
  base: 171,
  in_model: 97,
  tally: { units: 10, open: 3, leased: 2, compared: 1, done: 3, failed: 1, dropped: 0 },
  shards: {
    count: 5,
    each: 2,
    cells: [
      [0, 0, 0, 4, 0, 0, 4],
      [1, 1, 0, 2, 0, 0, 9],
      [0, 0, 0, 0, 2, 0, 12],
    ],
  },
  servers: { count: 2, backlog: 1, lost: 74 },
  clients: { here: 8, at_work: 6, slots: 16, proven: 3, trusted: 1 },
  comparison: "newcomers",
  trust: [],
  scores: [],
  newer_in: 1,
};
const KNOWN: KnownClients = {
  client: "0123456789abcdef",
  kind: "browser webgl",
  here: true,
  trusted: false,
  proven: false,
  doubted: false,
  held: 3,
  on_time: 4,
  quota: 1000,
  left_today: 990,
  slots: 2,
  leases: 1,
  seconds: 0.01,
};

test("the figures at the head say how far the epoch is, and who works on it", () => {
  expect(unitFigures(UNITS)).toEqual([
    "3 of 40",
    "3 of 10",
    "97 results",
    "2",
    "8 here, 6 at work",
    "16, 2.0 for each",
    "1 result waits",
    "74 results",
    "3 proven, 1 trusted peer",
  ]);
  expect(tallyOf(UNITS)).toBe("3 done, 2 at work, 1 being compared, 3 waiting, 1 given up");
});

test("units that were dropped at the end were not given up", () => {
  const tally = { ...UNITS.tally, open: 1, dropped: 2 };
  expect(tallyOf({ ...UNITS, tally })).toBe(
    "3 done, 2 at work, 1 being compared, 1 waiting, 1 given up, 2 not needed",
  );
});

test("parts of results are overwritten where the model stands in shards", () => {
  const figures = unitFigures({ ...UNITS, in_model: 170.4, servers: { ...UNITS.servers, lost: 0.6 } });
  expect([figures[2], figures[7]]).toEqual(["170.4 results", "0.6 results"]);
});

test("nobody here divides nothing by nobody", () => {
  const alone = { here: 0, at_work: 0, slots: 0, proven: 0, trusted: 0 };
  expect(unitFigures({ ...UNITS, clients: alone })[5]).toBe("–");
});

test("a square has the phase of the unit that is furthest from done, and is hot where units went out often", () => {
  expect(cellsOf(UNITS)).toEqual([
    { phase: "done", heat: 0, done: 1, title: "Shards 0 to 1: 4 done; 4 leases" },
    { phase: "open", heat: 2, done: 0.5, title: "Shards 2 to 3: 1 waiting, 1 at work, 2 done; 9 leases" },
    { phase: "failed", heat: 3, done: 0, title: "Shard 4: 2 given up; 12 leases" },
  ]);
});

test("a client's row says in words how far it is trusted", () => {
  expect(trustRow(KNOWN, "newcomers")).toEqual([
    "mauve salamander · 0123456789abcdef",
    "browser webgl",
    "being checked",
    "3",
    "4",
    "990 of 1\u202f000",
    "1 of 2",
    "100.0 /s",
  ]);
  expect(trustRow({ ...KNOWN, held: 0 }, "newcomers")[2]).toBe("newcomer");
  expect(trustRow({ ...KNOWN, held: 0, doubted: true }, "newcomers")[2]).toBe("in doubt");
  expect(trustRow({ ...KNOWN, proven: true }, "newcomers")[2]).toBe("proven");
  expect(trustRow({ ...KNOWN, trusted: true }, "newcomers")[2]).toBe("the owner’s");
  expect(trustRow({ ...KNOWN, here: false, seconds: null }, "newcomers").slice(6)).toEqual(["away", "–"]);
});

test("nobody is a newcomer where results count on arrival", () => {
  for (const comparison of ["samples", "none"] as const) {
    expect(trustRow({ ...KNOWN, held: 0 }, comparison)[2]).toBe("counts on arrival");
    expect(trustRow({ ...KNOWN, doubted: true }, comparison)[2]).toBe("in doubt");
    expect(unitFigures({ ...UNITS, comparison })[8]).toBe("results count on arrival, 1 trusted peer");
  }
});

test("epochs stand newest first, without figures where nothing was measured", () => {
  const measured = {
    epoch: 1,
    results: 10,
    measured: 9,
    staleness: 1.25,
    loss: { ...SPREAD, mean: 1.5 },
    metrics: { accuracy: SPREAD },
  };
  const fresh = { ...measured, epoch: 2, measured: 0, loss: null, metrics: {} };
  expect(scoreRows([measured, fresh])).toEqual([
    ["2", "0 of 10", "–", "–", "–", "1.3"],
    ["1", "9 of 10", "50.0\u202f%", "40.0\u202f% to 60.0\u202f%, ± 5.0\u202f%", "1.5", "1.3"],
  ]);
});
