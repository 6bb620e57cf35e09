import { expect, test } from "vitest";
import {
  afterRound,
  type Newcomer,
} from "../../../../../../webapp/static/src/protocol/mesh/byzantine/membership";

const newcomer = (client: string, rounds: number, audits: readonly number[]): Newcomer => ({
  client,
  identity: client.padEnd(64, "0"),
  rounds,
  audits,
});

const seat = (client: string) => ({ client, identity: client.padEnd(64, "0"), absences: [] });

test("of more newcomers than a state may have those stay that worked, passed and worked most", () => {
  const strangers = Array.from({ length: 300 }, (_, i) => newcomer(`b${i}`, 1, []));
  const zoe = newcomer("c1", 3, [0]);
  const gone = newcomer("d1", 9, [0, 1]);
  const after = afterRound(
    { seats: [seat("a1"), seat("e1")], newcomers: [zoe, gone], banned: [] },
    {
      number: 4,
      worked: ["c1", ...strangers.map(({ client }) => client)],
      absent: [],
      unrevealed: [],
      convicted: [],
      passed: [],
      failed: [],
      pending: [],
      withheld: [],
      entered: strangers,
    },
    20,
    20,
  );
  expect(after.newcomers).toHaveLength(128);
  expect(after.newcomers.map(({ client }) => client)).toContain("c1");
  expect(after.newcomers.map(({ client }) => client)).not.toContain("d1");
});
