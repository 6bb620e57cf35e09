/**
 * The statements of one turn: who said what in which phase, and who said two things. The host checked that they are
 * truly said. The twin is backend/protocols/mesh/byzantine/turn_log.py.
 */

import { type Bytes, fromHex, sameBytes, toHex, utf8 } from "../../../core/crypto/bytes";
import { hashFields } from "../../../core/crypto/hash";
import {
  coinCommitment,
  heardDigest,
  type Statement,
  statementDigest,
  type TurnOfRound,
} from "../../../core/crypto/statements";
import { type Body, decodeBody, type TurnPhase } from "./statement-bodies";

export const PHASES: readonly TurnPhase[] = ["commit", "made", "reveal", "check", "verdict"];
const NUMBERED = /^(call|shown)-([0-9]+)$/;
const MOST_EXCHANGES = 64;

type Word = readonly [Statement, Body];

/** Returns the phase of a `call` or `shown` of exchange `number`. */
export function numbered(kind: "call" | "shown", number: number): string {
  return `${kind}-${number}`;
}

/** All that a member heard in the turn of `turn` from `clients`, with their identities. Owned by the machine. */
export class TurnLog {
  readonly #clientOf: ReadonlyMap<string, string>;
  /** By phase and client: what it said, and a second word, if there is one. */
  readonly #said = new Map<string, Map<string, readonly Word[]>>();
  // First words do not change: by phase and client, by phase once all active clients said theirs, and by client.
  readonly #digests = new Map<string, string>();
  readonly #heard = new Map<TurnPhase, Bytes>();
  readonly #trueCoins = new Map<string, boolean>();
  #size = 0;

  constructor(
    readonly turn: TurnOfRound,
    clients: ReadonlyMap<string, string>,
  ) {
    this.#clientOf = new Map([...clients].map(([client, identity]) => [identity, client]));
  }

  /** Returns the identity of each client that is heard. */
  identities(): Map<string, string> {
    return new Map([...this.#clientOf].map(([identity, client]) => [client, identity]));
  }

  /** Keeps a statement that the client truly said; returns its client if it is new and well-formed. */
  add(statement: Statement): string | null {
    const client = this.#clientOf.get(toHex(statement.identity));
    const kind = kindOf(statement.phase);
    if (client === undefined || kind === null) return null;
    const words = this.#said.get(statement.phase)?.get(client) ?? [];
    if (words.length > 1 || words.some(([known]) => isSame(known, statement))) return null;
    const body = decodeBody(statement.body);
    if (body?.type !== kind) return null;
    this.#keep(statement.phase, client, [...words, [statement, body]]);
    return client;
  }

  /** Whether the statement is here already. */
  knows(statement: Statement): boolean {
    const client = this.#clientOf.get(toHex(statement.identity)) ?? "";
    const words = this.#said.get(statement.phase)?.get(client) ?? [];
    return words.some(([known]) => isSame(known, statement));
  }

  /** Returns everything, in the order in which phases and clients were heard first. */
  statements(): readonly Statement[] {
    return [...this.#said.values()].flatMap((byClient) =>
      [...byClient.values()].flatMap((words) => words.map(([statement]) => statement)),
    );
  }

  /** Returns the evidence against each client that said two things in one phase. */
  twoWords(): Map<string, readonly [Statement, Statement]> {
    const found = new Map<string, readonly [Statement, Statement]>();
    for (const byClient of this.#said.values()) {
      for (const [client, [one, other]] of byClient) if (one && other) found.set(client, [one[0], other[0]]);
    }
    return found;
  }

  /** How many statements are here. */
  get size(): number {
    return this.#size;
  }

  /** Returns how many first words `said` of a phase depends on: for coins commitments, too. */
  count(phase: string): number {
    const found = this.#said.get(phase)?.size ?? 0;
    return phase === "reveal" ? found + (this.#said.get("commit")?.size ?? 0) : found;
  }

  /** Returns what clients said in a phase, by client, first words only; none of a false coin. */
  said(phase: string): Map<string, Body> {
    const found = new Map<string, Body>();
    for (const [client, words] of this.#sorted(phase)) {
      const body = words[0]?.[1];
      if (body !== undefined && (phase !== "reveal" || this.#isTrueCoin(client, body)))
        found.set(client, body);
    }
    return found;
  }

  /** Returns all words of each client in a phase. */
  allSaid(phase: string): Map<string, readonly Body[]> {
    return new Map(this.#sorted(phase).map(([client, words]) => [client, words.map(([, body]) => body)]));
  }

  /** Returns the digest of a client's statement. Throws if there is none. */
  digestOf(phase: string, client: string): string {
    const key = `${phase} ${client}`;
    const digest =
      this.#digests.get(key) ?? toHex(statementDigest(this.turn, this.statementOf(phase, client)));
    this.#digests.set(key, digest);
    return digest;
  }

  /** Returns a client's statement. Throws if there is none. */
  statementOf(phase: string, client: string): Statement {
    const word = this.#said.get(phase)?.get(client)?.[0];
    if (word === undefined) throw new Error(`${client} said nothing in ${phase}.`);
    return word[0];
  }

  /** Returns the SHA-256 of all that the active clients said before the verdict. */
  transcript(active: readonly string[]): string {
    const phases = PHASES.slice(0, PHASES.indexOf("verdict"));
    const clients = [...active].sort();
    const digests = phases.flatMap((phase) => clients.map((client) => fromHex(this.digestOf(phase, client))));
    return hashFields(utf8("minga/mesh/1/said"), ...digests);
  }

  /**
   * Returns what a statement of a phase follows: the SHA-256 of all that were said in the phase before. Null in the first
   * phase, and if an active client said nothing yet in the one before.
   */
  heardBefore(phase: TurnPhase, active: readonly string[]): Bytes | null {
    const before = PHASES[PHASES.indexOf(phase) - 1];
    if (before === undefined) return null;
    const known = this.#heard.get(phase);
    const said = this.#said.get(before);
    if (known || !active.every((client) => said?.get(client)?.length)) return known ?? null;
    const heard = heardDigest([...active].sort().map((client) => fromHex(this.digestOf(before, client))));
    this.#heard.set(phase, heard);
    return heard;
  }

  #keep(phase: string, client: string, words: readonly Word[]): void {
    const byClient = this.#said.get(phase) ?? new Map<string, readonly Word[]>();
    this.#said.set(phase, byClient);
    byClient.set(client, words);
    this.#size += 1;
  }

  #sorted(phase: string): readonly (readonly [string, readonly Word[]])[] {
    return [...(this.#said.get(phase) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  #isTrueCoin(client: string, body: Body): boolean {
    const commit = this.#said.get("commit")?.get(client)?.[0]?.[1];
    if (body.type !== "reveal" || commit?.type !== "commit") return false;
    const isTrue =
      this.#trueCoins.get(client) ??
      toHex(coinCommitment(client, fromHex(body.coin), fromHex(body.salt))) === commit.coin;
    this.#trueCoins.set(client, isTrue);
    return isTrue;
  }
}

/** Returns the kind of body that a statement of this phase has; null if there is no such phase. */
function kindOf(phase: string): Body["type"] | null {
  const [, kind, number] = NUMBERED.exec(phase) ?? [];
  if (kind !== undefined) return Number(number) < MOST_EXCHANGES ? (kind as "call" | "shown") : null;
  return PHASES.find((one) => one === phase) ?? null;
}

function isSame(one: Statement, other: Statement): boolean {
  return sameBytes(one.before, other.before) && sameBytes(one.body, other.body);
}
