import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fromHex, toHex } from "../../../../../../webapp/static/src/core/crypto/bytes";
import { adopted, isProven } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/adoption";
import {
  encodeState,
  type TellState,
  toldState,
} from "../../../../../../webapp/static/src/protocol/mesh/byzantine/encoded-state";
import {
  firstState,
  rulesDigest,
} from "../../../../../../webapp/static/src/protocol/mesh/byzantine/first-state";
import {
  type AgreedState,
  stateDigest,
} from "../../../../../../webapp/static/src/protocol/mesh/byzantine/state";
import { planOf } from "../../../../../../webapp/static/src/protocol/mesh/byzantine/work-plan";
import { type ByzantineRules, decodePeer } from "../../../../../../webapp/static/src/protocol/wire/mesh";

type ByClient<T> = Readonly<Record<string, T>>;

interface Golden {
  readonly task: string;
  readonly run: string;
  readonly meshes: readonly {
    readonly rules: ByzantineRules;
    readonly digest: string;
    readonly weights: string;
    readonly founders: ByClient<string>;
    readonly first: string;
    readonly first_digest: string;
    readonly plans: ByClient<unknown>;
  }[];
  readonly crowded: { readonly state: string; readonly digest: string };
  readonly adoptions: readonly {
    readonly name: string;
    readonly own: string | null;
    readonly wanted: string | null;
    readonly identities: ByClient<string>;
    readonly told: ByClient<string>;
    readonly proven: ByClient<boolean>;
    readonly adopted: string | null;
  }[];
}

const golden = JSON.parse(readFileSync("tests/contract/vectors/byzantine_states.json", "utf8")) as Golden;
const { task, run } = golden;
const rules = golden.meshes[0]?.digest as string;

function read(state: string): AgreedState | null {
  const frame = { type: "tell_state", state: fromHex(state), attempt: [0, 0], turn: 0 } as const;
  return toldState({ ...frame, active: [], verdicts: [] });
}

describe("the begin of a Byzantine mesh", () => {
  test.each(golden.meshes)("with the rules $digest is Python's", (mesh) => {
    expect(rulesDigest(mesh.rules)).toBe(mesh.digest);
    const state = firstState(mesh.rules, mesh.weights, new Map(Object.entries(mesh.founders)));
    expect(stateDigest(state)).toBe(mesh.first_digest);
    expect(toHex(encodeState(state))).toBe(mesh.first);
    expect(read(mesh.first)).toEqual(state);
    for (const [client, plan] of Object.entries(mesh.plans)) {
      expect(planOf(mesh.rules, state, client)).toEqual(plan);
    }
  });
});

describe("the bytes of a state", () => {
  test("are Python's", () => {
    const state = read(golden.crowded.state) as AgreedState;
    expect(stateDigest(state)).toBe(golden.crowded.digest);
    expect(toHex(encodeState(state))).toBe(golden.crowded.state);
  });

  test("are read only if they are one", () => {
    expect(read("")).toBeNull();
    expect(read("c1")).toBeNull();
    expect(read("80")).toBeNull();
    expect(read(golden.crowded.state.slice(0, -2))).toBeNull();
  });
});

describe("a state of others", () => {
  test.each(golden.adoptions)("$name", async (each) => {
    const told = new Map(
      Object.entries(each.told).map(([client, hex]) => [client, decodePeer(fromHex(hex)) as TellState]),
    );
    const own = each.own === null ? null : read(each.own);
    const known = { task, run, rules, own, wanted: each.wanted, client: "" };
    const found = await adopted(known, told, new Map(Object.entries(each.identities)));
    expect(found && stateDigest(found.state)).toBe(each.adopted);
    for (const [client, frame] of told) {
      const state = toldState(frame) as AgreedState;
      const isIt = own !== null && (await isProven({ task, run }, own, state, frame));
      expect(isIt).toBe(each.proven[client]);
    }
  });
});
