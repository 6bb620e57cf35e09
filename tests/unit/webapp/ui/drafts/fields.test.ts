import { expect, test } from "vitest";
import { changeOf, changeWithout, valueAt } from "../../../../../webapp/static/src/ui/drafts/fields";
import { mergeTables } from "../../../../../webapp/static/src/ui/drafts/record";

const TASK = {
  name: "cats",
  training: { epochs: 2 },
  coordination: { server_optimizer: { name: "fedavg" } },
};

test("a key leads to its value, and a change of it to the same place", () => {
  expect(valueAt(TASK, "training.epochs")).toBe(2);
  expect(valueAt(TASK, "name")).toBe("cats");
  expect(valueAt(TASK, "training.steps")).toBeUndefined();
  expect(valueAt(TASK, "nowhere.at.all")).toBeUndefined();
  for (const key of ["name", "training.epochs", "data.volunteer.minimum"]) {
    expect(valueAt(mergeTables(TASK, changeOf(key, 7)), key)).toBe(7);
    expect(valueAt(mergeTables(TASK, changeOf(key, null)), key)).toBeUndefined();
  }
});

test("another name takes the place of a whole table, and no name takes it out", () => {
  const task = { coordination: { rounds: 3, server_optimizer: { name: "fedadam", beta_1: 0.8 } } };
  const key = "coordination.server_optimizer.name";
  expect(mergeTables(task, changeWithout(task, key, "fedyogi"))).toEqual({
    coordination: { rounds: 3, server_optimizer: { name: "fedyogi" } },
  });
  expect(mergeTables(task, changeWithout(task, key, null))).toEqual({ coordination: { rounds: 3 } });
});
