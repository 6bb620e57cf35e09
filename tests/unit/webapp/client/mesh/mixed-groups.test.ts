import { createHash } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import type { GroupOutcome } from "../../../../../webapp/static/src/client/mesh/exchange";
import type { GroupOrder } from "../../../../../webapp/static/src/protocol/wire/mesh";
import { frames, linkAll, type Meddle, Member, orderFor, vectorOf } from "./member";
import { PythonMember, type Told } from "./python-members";

const SIZE = 200_000;
const WEIGHTS = [3, 1, 4, 1.5, 9];

let members: (Member | PythonMember)[] = [];
afterEach(() => {
  for (const member of members) member instanceof PythonMember ? member.kill() : member.close();
  members = [];
});

/** What a member of either language ended with. */
function told({ mean, survivors, fraction }: GroupOutcome): Told {
  const sha256 = createHash("sha256").update(new Uint8Array(mean.buffer)).digest("hex");
  return { sha256, survivors, fraction };
}

/** Starts a group whose members at the places in `python` are Python's; the others hear by `meddle`. */
async function begin(
  order: GroupOrder,
  python: readonly number[],
  meddle?: Meddle,
): Promise<Promise<Told>[]> {
  members = order.members.map((client, place) =>
    python.includes(place) ? new PythonMember() : new Member(client, meddle),
  );
  await linkAll(members.filter((member) => member instanceof Member));
  const ports = await Promise.all(
    members.map((member) => (member instanceof Member ? member.links.port : member.port())),
  );
  const others = order.members.length - 1;
  await Promise.all(
    members.map((member, place) => {
      if (member instanceof Member) return member.linked(others);
      // To every browser, and to the Pythons before it.
      const before = ports.filter((_, other) => !python.includes(other) || other < place);
      return member.link(order.members[place] as string, before, others);
    }),
  );
  return members.map((member, place) => {
    const weight = WEIGHTS[place] as number;
    if (member instanceof PythonMember) return member.average(order, place, weight);
    return member.average(order, vectorOf(place, SIZE), weight).then(told);
  });
}

describe("A group of browsers' and Python's members", () => {
  test.each([
    ["butterfly", "float32", [1, 3]],
    ["butterfly", "float16", [0, 2]],
    ["butterfly", "int8", [2, 3]],
    ["butterfly", "masked", [0, 2]],
    ["full", "float16", [1]],
    ["ring", "float16", [0, 3]],
    ["ring", "int8", [1, 2]],
  ] as const)("has by %s in %s the same bits", async (exchange, precision, python) => {
    const order = orderFor(exchange === "full" ? 3 : 4, SIZE, { exchange, precision });
    const ends = await Promise.all(await begin(order, python));
    expect(ends[0]).toMatchObject({ survivors: order.members.map((_, place) => place), fraction: 1 });
    for (const end of ends) expect(end).toEqual(ends[0]);
  });

  test.each([
    ["Python's leader", 0, [0, 2], "float16"],
    ["a browser's leader", 0, [1, 3], "float16"],
    ["Python's member", 3, [1, 3], "float16"],
    ["a browser's member", 4, [1, 3], "float16"],
    ["a browser's leader", 0, [1, 3], "masked"],
    ["Python's member", 3, [1, 3], "masked"],
  ] as const)(
    "loses %s at place %d of %j and ends in %s with the same bits",
    async (_, lost, python, precision) => {
      const { promise, meddle } = frames(12);
      const results = await begin(orderFor(5, SIZE, { precision }), python, meddle);
      await promise;
      const member = members[lost];
      if (member instanceof Member) member.close();
      else member?.kill();
      results[lost]?.catch(() => undefined);
      const ends = await Promise.all(results.filter((_, place) => place !== lost));
      expect(ends[0]?.fraction).toBeGreaterThan(0);
      for (const end of ends) expect(end).toEqual(ends[0]);
    },
  );
});
