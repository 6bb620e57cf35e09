/**
 * What counts as said in a phase: the statements of active members that are as their roles require. The twin is
 * backend/protocols/mesh/byzantine/turn_statements.py.
 */

import { type Bytes, fromHex, sameBytes } from "../../../core/crypto/bytes";
import type { Statement } from "../../../core/crypto/statements";
import { isComplete } from "./checks";
import { isMajority, type TurnRoles } from "./roles";
import type { Removal } from "./round-events";
import type { Body, BodyOf, SeenWork, TurnPhase } from "./statement-bodies";
import { PHASES, type TurnLog } from "./turn-log";

/** Hexadecimal digits of a digest. */
const DIGITS = 64;

/** What counts in a phase; `count` and `heard` are what that depends on. */
interface CountedPhase {
  readonly count: number;
  readonly heard: Bytes | null;
  readonly bodies: ReadonlyMap<string, Body>;
}

/** The statements of a turn by active members, out of its log. */
export class TurnStatements {
  readonly #counted = new Map<TurnPhase, CountedPhase>();

  constructor(
    readonly log: TurnLog,
    readonly roles: TurnRoles,
  ) {}

  /**
   * Returns what counts as said in a phase, by client: it follows all that was said in the one before. Who names other
   * statements there lies, or heard one of two words: an exchange shows which.
   */
  of<T extends TurnPhase>(phase: T): ReadonlyMap<string, BodyOf<T>> {
    const [count, heard] = [this.log.count(phase), this.log.heardBefore(phase, this.roles.active)];
    let known = this.#counted.get(phase);
    if (known?.count !== count || known.heard !== heard) {
      known = { count, heard, bodies: this.#following(phase, heard) };
      this.#counted.set(phase, known);
    }
    // The log keeps only bodies of their phase.
    return known.bodies as ReadonlyMap<string, BodyOf<T>>;
  }

  #following(phase: TurnPhase, heard: Bytes | null): ReadonlyMap<string, Body> {
    const said = [...this.log.said(phase)].filter(
      ([client, body]) =>
        this.#counts(client, body) &&
        (heard === null || sameBytes(this.log.statementOf(phase, client).before, heard)),
    );
    return new Map(said);
  }

  /** Returns the active clients that said nothing in a phase yet. */
  lacking(phase: TurnPhase): readonly string[] {
    const said = this.of(phase);
    return this.roles.active.filter((client) => !said.has(client));
  }

  /** Returns the first phase in which somebody said nothing, and who; null if the turn is complete. */
  earliestLacking(): readonly [TurnPhase, readonly string[]] | null {
    for (const phase of PHASES) {
      const clients = this.lacking(phase);
      if (clients.length > 0) return [phase, clients];
    }
    return null;
  }

  /** Returns the digests of the pieces of each worker that committed to them. */
  pieces(): Map<string, readonly string[]> {
    return this.#ofWorkers("commit", ({ pieces }) => pieces);
  }

  /** Returns the digest of the mean of each owner that committed to it. */
  means(): Map<string, string> {
    return this.#ofWorkers("made", ({ mean }) => mean);
  }

  /** Returns the revealed parts of the coin. */
  coins(): Map<string, Uint8Array> {
    return new Map([...this.of("reveal")].map(([client, { coin }]) => [client, fromHex(coin)]));
  }

  /** Returns the numbers of each worker that gave them. */
  checks(): Map<string, BodyOf<"check">> {
    return this.#ofWorkers("check", (body) => body);
  }

  /** Returns the work of newcomers that more than half of the seated saw, by client. */
  newcomers(): readonly SeenWork[] {
    const seen = new Map<string, { readonly one: SeenWork; count: number }>();
    for (const { newcomers } of this.of("made").values()) {
      for (const [key, one] of new Map(newcomers.map((one) => [keyOf(one), one]))) {
        const entry = seen.get(key) ?? { one, count: 0 };
        entry.count += 1;
        seen.set(key, entry);
      }
    }
    const found = [...seen].filter(([, { count }]) => isMajority(this.roles, count));
    return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { one }]) => one);
  }

  /** Returns how many members signed each state; one that signed two counts for both. */
  states(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const [client, bodies] of this.log.allSaid("verdict")) {
      if (!this.roles.active.includes(client)) continue;
      const states = bodies.flatMap((body) => (body.type === "verdict" ? [body.state] : []));
      for (const state of [...new Set(states)].sort()) counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    return counts;
  }

  /**
   * Returns the statements that convict a client of what it was removed for; none if nothing does. Of its numbers only
   * with what it had heard before: the coin, and the mean.
   */
  evidence(client: string, why: Removal): readonly Statement[] {
    if (why === "two-words") return this.log.twoWords().get(client) ?? [];
    if (why !== "wrong-mean" && why !== "wrong-check") return [];
    const last = why === "wrong-mean" ? "made" : "check";
    const heard = PHASES.slice(0, PHASES.indexOf(last)).flatMap((phase) =>
      this.roles.active.map((one) => this.log.statementOf(phase, one)),
    );
    return [...heard, this.log.statementOf(last, client)];
  }

  #ofWorkers<T extends TurnPhase, V>(phase: T, value: (body: BodyOf<T>) => V): Map<string, V> {
    const said = this.of(phase);
    return new Map(
      this.roles.workers.flatMap((client) => {
        const body = said.get(client);
        return body === undefined ? [] : [[client, value(body)] as const];
      }),
    );
  }

  #counts(client: string, body: Body): boolean {
    if (!this.roles.active.includes(client)) return false;
    const works = this.roles.workers.includes(client);
    switch (body.type) {
      case "commit":
        return body.pieces.length === (works ? this.roles.workers.length : 0);
      case "made":
        return body.mean.length === (works ? DIGITS : 0);
      case "check":
        return works ? isComplete(body, this.roles.workers.length) : body.products.length === 0;
      default:
        return true;
    }
  }
}

function keyOf({ client, identity, commit }: SeenWork): string {
  return `${client} ${identity} ${commit}`;
}
