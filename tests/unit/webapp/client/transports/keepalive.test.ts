import { describe, expect, test } from "vitest";
import {
  isProbe,
  Keepalive,
  PROBE_BYTES,
  probeChunks,
} from "../../../../../webapp/static/src/client/transports/keepalive";

const AHEAD = 1000;

/** One end of a line after some beats and a probe; the other's clock is ahead. */
function measured(rate: number, thereAndBack: number): Keepalive {
  const one = new Keepalive(0);
  const other = new Keepalive(AHEAD);
  for (let now = 2; now <= 20; now += 2) {
    const isProbed = one.wantsProbe;
    const late = isProbed ? PROBE_BYTES / rate : 0;
    other.beaten(isProbed ? one.probe(now) : one.beat(now), now + thereAndBack / 2 + late + AHEAD);
    one.beaten(other.beat(now + 1 + late + AHEAD), now + 1 + late + thereAndBack / 2);
  }
  return one;
}

describe("A probe", () => {
  test.each([5e4, 5e5, 5e6])("measures a line of %d bytes per second once", (rate) => {
    const keepalive = measured(rate, 0.08);
    expect(keepalive.probedRate / rate).toBeCloseTo(1, 2);
    expect(keepalive.seconds).toBeCloseTo(0.08);
    expect(keepalive.wantsProbe).toBe(false);
  });

  test("waits for the round-trip time", () => {
    expect(new Keepalive(0).wantsProbe).toBe(false);
  });

  test("is tried again if its echo is overtaken, and three times at most", () => {
    const one = new Keepalive(0);
    one.beaten({ type: "beat", sent: 5, echo: 1, since: 0.5 }, 2);
    for (let now = 10; one.wantsProbe; now += 10) {
      one.probe(now);
      one.beaten({ type: "beat", sent: 5, echo: one.beat(now + 2).sent, since: 0.5 }, now + 3);
      expect(now).toBeLessThan(40);
    }
    expect(one.probedRate).toBe(0);
  });

  test("has as many bytes in frames of any length, which are no weights that anybody asked for", () => {
    for (const room of [16_128, 65_264, 1 << 20]) {
      const frames = [...probeChunks(room)];
      expect(frames.every(isProbe)).toBe(true);
      const sizes = frames.map((frame) => (frame.type === "weights" ? frame.data.length : 0));
      expect(Math.max(...sizes)).toBeLessThanOrEqual(room);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(PROBE_BYTES);
    }
  });
});
