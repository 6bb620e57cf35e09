import { expect, it } from "vitest";
import { unitPlan } from "../../../../../webapp/static/src/client/units/plan";
import { BatchOrder } from "../../../../../webapp/static/src/workers/training/input/batch-order";
import { unitOf } from "./fixtures";

it("trains the rest of a unit on the rows that its first steps left", () => {
  const rowsOf = (change: object) => {
    const plan = unitPlan(unitOf(1, change), null, false);
    const order = new BatchOrder(plan.unit?.rows.count ?? 0, plan);
    return Array.from({ length: order.steps }, (_, i) => Array.from(order.rows(i + 1)));
  };
  const whole = rowsOf({});
  expect(whole).toHaveLength(4);
  expect(rowsOf({ epochs: 0, steps: 1, first_step: 3 })).toEqual(whole.slice(3));
  expect(rowsOf({ epochs: 0, steps: 3 })).toEqual(whole.slice(0, 3));
});
