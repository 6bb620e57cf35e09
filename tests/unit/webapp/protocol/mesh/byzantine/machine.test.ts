import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fromHex } from "../../../../../../webapp/static/src/core/crypto/bytes";
import type { Statement } from "../../../../../../webapp/static/src/core/crypto/statements";
import { ByzantineRound } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/machine";
import type {
  ByzantineEffect,
  ByzantineEvent,
  RoundBegin,
} from "../../../../../../webapp/static/src/protocol/mesh/byzantine/round-events";

type Plain = Readonly<Record<string, unknown>>;

interface GoldenRound extends Omit<RoundBegin, "clients" | "bounds" | "toss"> {
  readonly name: string;
  readonly clients: readonly (readonly [client: string, identity: string])[];
  /** How many values the vector has. */
  readonly size: number;
  readonly tosses: readonly (readonly [coin: string, salt: string])[];
  readonly now: number;
  readonly steps: readonly {
    readonly now: number;
    readonly event: Plain;
    readonly effects: readonly Plain[];
    readonly timer: number | null;
  }[];
}

interface Golden {
  readonly statements: readonly Readonly<Record<keyof Statement, string>>[];
  readonly rounds: readonly GoldenRound[];
}

const golden = JSON.parse(readFileSync("tests/contract/vectors/byzantine_rounds.json", "utf8")) as Golden;
const statements: readonly Statement[] = golden.statements.map(({ identity, phase, before, body }) => ({
  identity: fromHex(identity),
  phase,
  before: fromHex(before),
  body: fromHex(body),
}));

/** Puts the statements in place of their numbers. */
function restored({ statement, statements: numbers, ...others }: Plain): Plain {
  const all = Array.isArray(numbers) ? { statements: numbers.map((number) => statements[number]) } : {};
  return {
    ...others,
    ...all,
    ...(typeof statement === "number" ? { statement: statements[statement] } : {}),
  };
}

function machineOf(round: GoldenRound): ByzantineRound {
  const tosses = [...round.tosses];
  const begin: RoundBegin = {
    ...round,
    clients: new Map(round.clients),
    bounds: (parts) =>
      Array.from({ length: parts + 1 }, (_, part) => Math.floor((round.size * part) / parts)),
    toss: () => {
      const toss = tosses.shift();
      if (toss === undefined) throw new Error("There are no more tosses.");
      return toss;
    },
  };
  return new ByzantineRound(begin, round.now);
}

describe("The browser's member of a Byzantine round decides like Python's", () => {
  test.each(golden.rounds)("$name, as $client", (round) => {
    const machine = machineOf(round);
    const identities = new Map(round.clients);
    for (const { now, event, effects, timer } of round.steps) {
      const signers = Array.isArray(event.signers)
        ? { signers: event.signers.map((client) => identities.get(client) as string) }
        : {};
      const happened = machine.happened({ ...restored(event), ...signers } as unknown as ByzantineEvent, now);
      expect(happened).toEqual(effects.map(restored) as unknown as ByzantineEffect[]);
      expect(machine.timer()).toBe(timer);
    }
  });
});
