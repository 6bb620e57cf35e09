/**
 * An exchange of all statements of a turn: who lacks what, who can show it, and the same statements for all. Times
 * count from its begin, in patiences: at 0 everybody calls, at 2 everybody says what it has and found, and from 3 on
 * statements are passed on. The twin is backend/protocols/mesh/byzantine/exchange.py.
 */

import { toHex } from "../../../core/crypto/bytes";
import type { Statement } from "../../../core/crypto/statements";
import { disputedParts, withParts } from "./outcome";
import { signerCount, windows } from "./relaying";
import type { ByzantineEffect } from "./round-events";
import type { BodyOf, PartFinding, TurnPhase } from "./statement-bodies";
import { numbered } from "./turn-log";
import type { TurnStatements } from "./turn-statements";

const SHOWN = 2;
const RELAYED = 3;

/** What an exchange takes of its turn. The one before left no time to make the means of `deferred` parts again. */
interface ExchangingTurn {
  readonly statements: TurnStatements;
  /** The number of this exchange. */
  readonly exchanges: number;
  readonly deferred: ReadonlySet<number>;
}

/** An exchange in a turn, as the active member `client` sees it. Owned by its machine; times are seconds. */
export class StatementExchange {
  readonly #members: ReadonlySet<string>;
  readonly #own: string;
  readonly #windows: number;
  readonly #asked = new Set<number>();
  readonly #findings = new Map<number, PartFinding>();
  readonly #sent = new Set<string>();
  #now: number;
  #effects: ByzantineEffect[] = [];
  #available: ReadonlySet<string> = new Set();
  #toRemake: number[] = [];
  /** Of how many statements and bytes it was found what this member can show and make again. */
  #lookedAt = "";
  #window = 0;
  #hasShown = false;
  #hasRelayed = false;

  private readonly statements: TurnStatements;
  private readonly number: number;
  private readonly deferred: ReadonlySet<number>;

  constructor(
    turn: ExchangingTurn,
    private readonly client: string,
    private readonly begin: number,
    private readonly patience: number,
  ) {
    const { statements, exchanges, deferred } = turn;
    [this.statements, this.number, this.deferred] = [statements, exchanges, deferred];
    const identities = statements.log.identities();
    const { active, seated } = statements.roles;
    this.#members = new Set(active.map((one) => identities.get(one) as string));
    this.#own = identities.get(client) as string;
    this.#windows = windows(seated.length);
    this.#now = begin;
  }

  /** Returns what this member, which has come to `phase`, says at the begin; tells what it has heard. */
  call(phase: TurnPhase, lacks: readonly string[], disputed: readonly number[]): BodyOf<"call"> {
    const heard = this.statements.log.statements();
    this.#passOn(heard.filter(({ identity }) => toHex(identity) !== this.#own));
    return { type: "call", phase, lacks, disputed };
  }

  /** Returns when something is due next. */
  timer(): number {
    return this.#timeOf(this.#window + 1);
  }

  /** Whether statements of the turn that are said now reach all before they are passed on. */
  maySpeak(now: number): boolean {
    this.#takeTime(now);
    return this.#window < SHOWN;
  }

  /** Whether all windows have passed. */
  isOver(now: number): boolean {
    return now >= this.#timeOf(RELAYED + this.#windows);
  }

  #takeTime(now: number): void {
    this.#now = Math.max(now, this.#now);
    while (this.#now >= this.#timeOf(this.#window + 1)) this.#window += 1;
  }

  #timeOf(window: number): number {
    return this.begin + window * this.patience;
  }

  /** Whether a statement that arrives now counts: late ones need signatures of others. */
  counts(statement: Statement, signers: readonly string[], now: number): boolean {
    this.#takeTime(now);
    const needed = this.#window - RELAYED + 2;
    return this.#window < RELAYED || signerCount(toHex(statement.identity), signers, this.#members) >= needed;
  }

  /** Passes on a statement that is new. */
  learned(statement: Statement, client: string, now: number): void {
    this.#takeTime(now);
    if (this.#hasRelayed && this.statements.roles.active.includes(client)) this.#passOn([statement]);
  }

  /** Takes the time, and the digests of all bytes that this member has. */
  proceed(now: number, available: ReadonlySet<string>): void {
    this.#takeTime(now);
    this.#available = available;
    const lookedAt = `${this.statements.log.size} ${available.size}`;
    if (lookedAt !== this.#lookedAt) {
      this.#lookedAt = lookedAt;
      this.#show();
      this.#lookForRemakes();
    }
    if (this.#window >= RELAYED && !this.#hasRelayed) {
      this.#hasRelayed = true;
      this.#passOn(this.statements.log.statements());
    }
  }

  /** Returns what is due to be said: what this member has and found; null if nothing is. */
  toSay(): BodyOf<"shown"> | null {
    if (this.#window < SHOWN || this.#hasShown) return null;
    this.#hasShown = true;
    const wanted = [...new Set([...this.#lacks().values()].flat())].sort();
    const findings = this.#disputed().map(
      (part) => this.#findings.get(part) ?? { part, wrong: null, wrong_mean: false },
    );
    return { type: "shown", holds: wanted.filter((digest) => this.#available.has(digest)), findings };
  }

  /** Returns the disputed parts of which this member has all pieces by now, each once. */
  toRemake(): readonly number[] {
    const found = this.#toRemake;
    this.#toRemake = [];
    return found;
  }

  /** Takes a mean that was made again: the places of workers with wrong numbers, and whether it is wrong. */
  remade(part: number, wrong: readonly number[], isWrongMean: boolean): void {
    this.#findings.set(part, { part, wrong, wrong_mean: isWrongMean });
  }

  /** Returns the effects since the last call. */
  flush(): readonly ByzantineEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  #lookForRemakes(): void {
    const pieces = [...this.statements.pieces().values()];
    for (const part of this.#disputed()) {
      const isReady = pieces.every((digests) => this.#available.has(digests[part] as string));
      if (this.#asked.has(part) || !isReady) continue;
      this.#asked.add(part);
      this.#toRemake.push(part);
    }
  }

  #passOn(statements: readonly Statement[]): void {
    const { turn } = this.statements.log;
    for (const statement of statements) this.#effects.push({ type: "pass_on", statement, turn });
  }

  #disputed(): readonly number[] {
    return withParts(disputedParts(this.statements, this.number), this.deferred);
  }

  #lacks(): Map<string, readonly string[]> {
    const found = new Map<string, readonly string[]>();
    for (const [client, body] of this.statements.log.said(numbered("call", this.number))) {
      if (this.statements.roles.active.includes(client) && body.type === "call")
        found.set(client, body.lacks);
    }
    return found;
  }

  /** Sends bytes that others lack: own ones to all, those of others to who asked. */
  #show(): void {
    const { active, workers } = this.statements.roles;
    const pieces = this.statements.pieces();
    const own = new Set([...(pieces.get(this.client) ?? []), this.statements.means().get(this.client) ?? ""]);
    const everybody = active.filter((client) => client !== this.client);
    for (const [client, lacks] of this.#lacks()) {
      for (const digest of lacks) {
        if (this.#available.has(digest)) this.#send(digest, own.has(digest) ? everybody : [client]);
      }
    }
    for (const part of this.#disputed()) {
      for (const [worker, digests] of pieces) {
        // The owner has all pieces of its part, and workers their own.
        const isOurs = this.client === worker || this.client === workers[part];
        const digest = digests[part] as string;
        if (isOurs && this.#available.has(digest)) this.#send(digest, everybody);
      }
    }
  }

  #send(digest: string, clients: readonly string[]): void {
    const unsent = clients.filter((one) => one !== this.client && !this.#sent.has(`${digest} ${one}`));
    for (const one of unsent) this.#sent.add(`${digest} ${one}`);
    if (unsent.length > 0) this.#effects.push({ type: "send_bytes", digest, clients: unsent });
  }
}
