import { expect, it } from "vitest";
import { bufferedSlots } from "../../../../../webapp/static/src/protocol/client/unit-buffer";
import golden from "../../../../contract/vectors/unit_buffer.json";

it.each(golden)("takes as many units as Python does ($offline s in units of $unit_seconds s)", (wanted) => {
  const { offline, at_once, unit_seconds, result_bytes, memory_bytes, slots } = wanted;
  expect(bufferedSlots(offline, at_once, unit_seconds, result_bytes, memory_bytes)).toBe(slots);
});
