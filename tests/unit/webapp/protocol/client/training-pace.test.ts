import { expect, it } from "vitest";
import {
  type Rate,
  trainingSeconds,
  uploaded,
} from "../../../../../webapp/static/src/protocol/client/training-pace";
import golden from "../../../../contract/vectors/pace.json";

it.each(golden)("leaves as much time as Python does ($seconds s, $size bytes)", (wanted) => {
  let rate: Rate = null;
  for (const [size = 0, seconds = 0] of wanted.uploads) rate = uploaded(rate, size, seconds);
  expect(rate).toBe(wanted.rate);
  expect(trainingSeconds(rate, wanted.seconds, wanted.size)).toBe(wanted.training);
});
