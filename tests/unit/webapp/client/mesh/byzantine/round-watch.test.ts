import { expect, test } from "vitest";
import { RoundWatch } from "../../../../../../webapp/static/src/client/mesh/byzantine/round-watch";
import type { GroupOrder } from "../../../../../../webapp/static/src/protocol/wire/mesh";

const ORDER = { round: 3, group: 1024 } as GroupOrder;
const SEATED = ["ann", "bob", "cat", "dan"];

test("A round is lost once half of those who take part have no result, each counted once", () => {
  const watch = new RoundWatch(ORDER, SEATED);
  expect(watch.failed("ann", ORDER)).toBe(true);
  expect(watch.failed("ann", ORDER)).toBe(true);
  expect(watch.failed("eve", ORDER)).toBe(true);
  expect(watch.isLost).toBe(false);
  watch.failed("bob", ORDER);
  expect(watch.isLost).toBe(true);
});

test("The failure of another attempt tells nothing", () => {
  const watch = new RoundWatch(ORDER, SEATED);
  for (const client of SEATED) expect(watch.failed(client, { round: 3, group: 1025 })).toBe(false);
  expect(watch.isLost).toBe(false);
});
