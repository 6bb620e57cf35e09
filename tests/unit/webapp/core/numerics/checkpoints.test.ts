import { expect, it } from "vitest";
import { checkpointSteps } from "../../../../../webapp/static/src/core/numerics/checkpoints";
import golden from "../../../../contract/vectors/checkpoints.json";

it.each(golden)("checks a unit of $steps steps where Python does", ({ steps, checkpoints }) => {
  expect(checkpointSteps(steps)).toEqual(checkpoints);
});
