/**
 * Builds evidence of what a member heard in a round; gives only what convicts. The twin, with the reasons, is
 * backend/protocols/mesh/byzantine/evidence/building.py.
 */

import { encode } from "@msgpack/msgpack";
import { type Bytes, fromHex, sameBytes, toHex } from "../../../../core/crypto/bytes";
import type { SignedStatement } from "../../../../core/crypto/statements";
import { encodeState } from "../encoded-state";
import { identities } from "../membership";
import { findingAbout } from "../next-state";
import type { Removal } from "../round-events";
import { type AgreedState, convicting, stateDigest, type WorkCase } from "../state";
import { decodeBody, type WorkFinding } from "../statement-bodies";
import { type BanEvidence, EvidenceError, MOST_TURNS, type TurnSaid } from "./ban-evidence";
import { convict } from "./conviction";
import { type EvidenceTurn, impliedStatements, readTurn } from "./evidence-turn";

type EvidenceKind = BanEvidence["kind"];
type SaidInTurn = TurnSaid["said"][number];

/** Returns the bytes of this SHA-256; null where they are not kept. */
export type FindBytes = (digest: string) => Bytes | null;

/**
 * Returns what was said in turn number `turn` of the round after `state`, as evidence has it; without what others said: a
 * member that was removed may sign statements of later turns.
 */
export function turnSaid(
  state: AgreedState,
  attempt: readonly [round: number, group: number],
  turn: number,
  active: readonly string[],
  said: readonly SignedStatement[],
): TurnSaid {
  const known = identities(state.membership);
  const takingPart = new Set(active.map((client) => known.get(client)));
  const kept = said.filter(({ identity }) => takingPart.has(toHex(identity)));
  const inOrder = kept.map(({ identity, phase, before, body, signature }) => ({
    identity,
    phase,
    before,
    body,
    signature,
  }));
  return { state: encodeState(state), attempt, turn, active, said: inOrder };
}

/** Builds evidence against one client of a run, whose key is `identity` (hexadecimal). */
export class EvidenceBuilder {
  constructor(
    private readonly task: string,
    private readonly run: string,
    private readonly client: string,
    private readonly identity: string,
    /** Whether bytes of evidence convict somebody: checking makes means again. */
    private readonly convicts: (evidence: Bytes) => Promise<boolean> = doesConvict,
  ) {}

  /**
   * Returns the bytes of evidence of why the client was removed; null if these statements and bytes do not convict it.
   * `turn` has the statements of `remove_client`.
   */
  async removed(why: Removal, turn: TurnSaid, find: FindBytes): Promise<Bytes | null> {
    if (why === "two-words") return this.#convicting(why, [turn]);
    if (why !== "wrong-mean" && why !== "wrong-check") return null;
    const read = await this.#read([turn], why);
    const statements = read?.[0] && impliedOf(read[0]);
    if (!statements) return null;
    const { workers } = statements.roles;
    const pieces = statements.pieces();
    for (const [part, owner] of workers.entries()) {
      // Of numbers nobody knows which part is meant; a mean is that of its owner's part.
      if (why === "wrong-mean" && owner !== this.client) continue;
      const ofPart = workers.map((worker) => pieces.get(worker)?.[part] as string);
      const few = [statements.means().get(owner) ?? "", pieces.get(this.client)?.[part] ?? ""];
      // All pieces say how long the accused's should have been.
      for (const digests of why === "wrong-mean" ? [ofPart] : [few, [...few, ...ofPart]]) {
        const contents = [...new Set(digests)].sort().flatMap((digest) => find(digest) ?? []);
        const found = await this.#convicting(why, [turn], part, contents);
        if (found !== null) return found;
      }
    }
    return null;
  }

  /**
   * Returns the bytes of evidence of a majority's verdict; null if these statements have none against the client.
   * `turns` are the last turns of the last rounds, in order, with `commit` and `verdict` statements. The last one is
   * that of the round after the accusation.
   */
  async convictedByCourt(turns: readonly TurnSaid[]): Promise<Bytes | null> {
    const read = await this.#read(turns, "majority");
    const first = turns.map((one) => this.#own(one).length > 0).lastIndexOf(true);
    if (read === null || first < 0) return null;
    const last = turns.length - 1;
    for (const one of (read[last] as EvidenceTurn).state.court) {
      const kept: TurnSaid[] = [];
      for (let place = first; place < last; place++) {
        const [turn, next] = [turns[place] as TurnSaid, turns[place + 1] as TurnSaid];
        if (place === first || !sameBytes(turn.state, next.state))
          kept.push(linked(turn, stateDigest((read[place + 1] as EvidenceTurn).state)));
      }
      kept.push(judging(turns[last] as TurnSaid, one, convicting(one, this.client)));
      const own = this.#own(turns[first] as TurnSaid);
      const [begin, ...others] = kept as [TurnSaid, ...TurnSaid[]];
      const said = [...own, ...begin.said.filter((each) => !own.includes(each))];
      const found = await this.#convicting("majority", [{ ...begin, said }, ...others]);
      if (found !== null) return found;
    }
    return null;
  }

  /** Its commitment, which may judge, before its other words. */
  #own({ said }: TurnSaid): readonly SaidInTurn[] {
    const own = said.filter((one) => toHex(one.identity) === this.identity);
    const found = own.find(({ phase }) => phase === "commit") ?? own[0];
    return found === undefined ? [] : [found];
  }

  async #read(turns: readonly TurnSaid[], kind: EvidenceKind): Promise<readonly EvidenceTurn[] | null> {
    try {
      return await Promise.all(turns.map((turn) => readTurn(this.#evidence(kind, [turn]), turn)));
    } catch (problem) {
      return unlessEvidenceError(problem);
    }
  }

  #evidence(
    kind: EvidenceKind,
    turns: readonly TurnSaid[],
    part = 0,
    contents: readonly Bytes[] = [],
  ): BanEvidence {
    const { task, run, client } = this;
    const identity = fromHex(this.identity);
    return { form: "minga-evidence.1", task, run, kind, client, identity, part, turns, contents };
  }

  async #convicting(
    kind: EvidenceKind,
    turns: readonly TurnSaid[],
    part = 0,
    contents: readonly Bytes[] = [],
  ): Promise<Bytes | null> {
    const evidence = encode(this.#evidence(kind, turns.slice(-MOST_TURNS), part, contents));
    return (await this.convicts(evidence)) ? evidence : null;
  }
}

async function doesConvict(evidence: Bytes): Promise<boolean> {
  try {
    await convict(evidence);
    return true;
  } catch (problem) {
    unlessEvidenceError(problem);
    return false;
  }
}

function impliedOf(turn: EvidenceTurn) {
  try {
    return impliedStatements(turn);
  } catch (problem) {
    return unlessEvidenceError(problem);
  }
}

/** Returns null; throws what is no EvidenceError. */
function unlessEvidenceError(problem: unknown): null {
  if (problem instanceof EvidenceError) return null;
  throw problem;
}

/** Returns the statements that sign the next state, of this digest. */
function linked(turn: TurnSaid, digest: string): TurnSaid {
  const said = turn.said.filter(({ phase, body }) => {
    const verdict = phase === "verdict" ? decodeBody(body) : null;
    return verdict?.type === "verdict" && verdict.state === digest;
  });
  return { ...turn, said };
}

/** Returns the statements that found this about a case. */
function judging(turn: TurnSaid, one: WorkCase, wanted: WorkFinding["found"] | null): TurnSaid {
  const said = turn.said.filter(({ phase, body }) => {
    const commit = wanted !== null && phase === "commit" ? decodeBody(body) : null;
    return commit?.type === "commit" && findingAbout(commit.judgements, one) === wanted;
  });
  return { ...turn, said };
}
