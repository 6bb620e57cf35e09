/**
 * One turn of a Byzantine round as one of its members sees it: what it has, said and waits for. The twin is
 * backend/protocols/mesh/byzantine/turn.py.
 */

import { type Bytes, toHex } from "../../../core/crypto/bytes";
import { NOTHING_BEFORE, type TurnOfRound, tossedCoin } from "../../../core/crypto/statements";
import type { ByzantineTerms } from "../../wire/mesh";
import { doubtedParts, farLengths, partRadius, wrongChecks } from "./checks";
import { drawnOrder } from "./drawn-work";
import type { StatementExchange } from "./exchange";
import { isMajority, type TurnRoles } from "./roles";
import type { ByzantineEventOf } from "./round-events";
import type { AgreedState } from "./state";
import type { BodyOf, SeenWork, TurnPhase } from "./statement-bodies";
import { PHASES, TurnLog } from "./turn-log";
import { TurnStatements } from "./turn-statements";

/** How many newcomers a member names in a turn. */
const MOST_SEEN = 128;

/** An effect that the host answers, or was asked for once. */
export type Asked = "sent" | "made" | "checked" | "stepped" | `shown ${number}` | `remade ${number}`;

/** What a turn begins with. `bounds` gives the limits of a number of parts of the vector. */
export interface TurnStart {
  readonly client: string;
  readonly roles: TurnRoles;
  readonly log: TurnLog;
  readonly radius: number;
  readonly bounds: (parts: number) => readonly number[];
  /** This member's part of the coin, and the salt of its commitment. */
  readonly coin: string;
  readonly salt: string;
  readonly due: number;
}

/** The turn of a client, which is in `phase` until `due`. Owned by its machine. */
export class Turn {
  readonly statements: TurnStatements;
  readonly said = new Set<string>();
  readonly asked = new Set<Asked>();
  phase: TurnPhase = "commit";
  due: number;
  last = NOTHING_BEFORE;
  // What the host answered.
  pieces: readonly string[] | null = null;
  mean: string | null = null;
  checked: ByzantineEventOf<"means_checked"> | null = null;
  stepped: ByzantineEventOf<"outer_stepped"> | null = null;
  /** The state that this member computed. */
  next: AgreedState | null = null;
  majorityAt: number | null = null;
  exchange: StatementExchange | null = null;
  exchanges = 0;
  /** Who was given time in a phase, and the parts whose means were found right, or are to be made again. */
  readonly excused = new Set<string>();
  readonly settled = new Set<number>();
  readonly deferred = new Set<number>();
  /** The parts that this member made again by itself: those that are right, and those where something is not. */
  readonly foundRight = new Set<number>();
  readonly foundWrong = new Set<number>();
  /** What did not count in an exchange, and is heard after it. */
  early: TurnLog;
  /** How many values each part has. */
  readonly sizes: readonly number[];

  constructor(readonly begin: TurnStart) {
    const { log, roles, due } = begin;
    this.statements = new TurnStatements(log, roles);
    this.early = new TurnLog(log.turn, log.identities());
    this.due = due;
    const bounds = begin.bounds(roles.workers.length);
    this.sizes = bounds.slice(1).map((end, i) => end - (bounds[i] as number));
  }

  get roles(): TurnRoles {
    return this.begin.roles;
  }

  get log(): TurnLog {
    return this.begin.log;
  }

  /** What its statements are bound to. */
  get turn(): TurnOfRound {
    return this.log.turn;
  }

  /** Whether this member works, and owns a part; validators do not. */
  get works(): boolean {
    return this.part >= 0;
  }

  /** The number of the part that this member owns; -1 for a validator. */
  get part(): number {
    return this.roles.workers.indexOf(this.begin.client);
  }

  /** Takes what was said during an exchange and did not count in it. */
  hearEarly(): void {
    for (const statement of this.early.statements()) this.log.add(statement);
    this.early = new TurnLog(this.log.turn, this.log.identities());
  }

  /** Returns the other active clients. */
  others(): readonly string[] {
    return this.roles.active.filter((client) => client !== this.begin.client);
  }

  /**
   * Returns who gets each of this member's pieces: the part's owner, and of its own the next worker. So validators can
   * see all of its work when it is gone.
   */
  keepers(): readonly string[] {
    const workers = [...this.roles.workers];
    workers[this.part] = workers[(this.part + 1) % workers.length] as string;
    return workers;
  }

  /** Returns the radius of a part, 0 before the first one was measured. */
  partRadius(part: number): number {
    return partRadius(this.begin.radius, this.sizes[part] as number);
  }

  /** Returns the digests of all pieces of a part, by worker, once all committed to theirs. */
  piecesOf(part: number): readonly string[] {
    const pieces = this.statements.pieces();
    return this.roles.workers.map((worker) => pieces.get(worker)?.[part] as string);
  }

  /** Returns the digests of all means, by part, once all owners committed to theirs. */
  means(): readonly string[] {
    const means = this.statements.means();
    return this.roles.workers.map((owner) => means.get(owner) as string);
  }

  /** Returns the coin, once all revealed their parts of it. */
  tossed(): string {
    return toHex(tossedCoin(this.statements.coins()));
  }

  /**
   * Returns what a statement that this member says now is bound to: in the phases after the first all that was said in the
   * one before, else its own last statement.
   */
  follows(phase: string): Bytes {
    const known = PHASES.find((one) => one === phase);
    return (known && this.log.heardBefore(known, this.roles.active)) ?? this.last;
  }

  /** Returns the work of clients without a seat that this member heard of; the last coin draws among too many. */
  seenNewcomers(state: AgreedState, clients: ReadonlyMap<string, string>): readonly SeenWork[] {
    const seats = new Set(state.membership.seats.map(({ client }) => client));
    const heard = [...this.log.said("commit").keys()].filter((client) => !seats.has(client));
    return drawnOrder(state.coin, "seen", heard)
      .slice(0, MOST_SEEN)
      .sort()
      .map((client) => ({
        client,
        identity: clients.get(client) as string,
        commit: this.log.digestOf("commit", client),
      }));
  }

  /** Returns the digests of bytes that this member waits for in its phase, if it holds these. */
  lacks(available: ReadonlySet<string>): readonly string[] {
    const needed = this.#needed().filter((digest) => !available.has(digest));
    return [...new Set(needed)].sort();
  }

  #needed(): readonly string[] {
    if (this.phase === "made") return this.works && this.mean === null ? this.piecesOf(this.part) : [];
    return this.phase === "check" || this.phase === "verdict" ? this.means() : [];
  }

  /** Returns the parts whose mean this member doubts, and nobody has made again; all numbers are known. */
  doubted(terms: ByzantineTerms): readonly number[] {
    const { workers } = this.roles;
    const checks = this.statements.checks();
    const doubted = new Set<number>();
    if (this.begin.radius !== 0) {
      const radii = workers.map((_, part) => this.partRadius(part));
      const said = workers.map((worker) => checks.get(worker) as BodyOf<"check">);
      const farthest = farLengths(said, this.sizes, terms, this.begin.radius);
      for (const part of doubtedParts(said, radii, farthest)) doubted.add(part);
    }
    if (this.isMisjudged()) doubted.add(this.part);
    return [...doubted]
      .filter((part) => !this.settled.has(part) && !this.foundRight.has(part))
      .sort((a, b) => a - b);
  }

  /** Whether somebody's numbers of this member's part are wrong, and nobody has made its mean again. */
  isMisjudged(): boolean {
    if (this.checked === null || this.settled.has(this.part)) return false;
    const products = this.#byWorker(this.checked.own_products);
    const lengths = this.#byWorker(this.checked.own_lengths);
    return wrongChecks(this.statements.checks(), this.part, products, lengths).length > 0;
  }

  /** Whether this member found a mean wrong, or numbers about one, and nobody has settled that. */
  isWrong(): boolean {
    return this.isMisjudged() || [...this.foundWrong].some((part) => !this.settled.has(part));
  }

  /** Takes a doubted mean that this member made again before anybody called for an exchange. */
  remade(event: ByzantineEventOf<"mean_remade">): void {
    const [places, isWrongMean] = this.wrong(event);
    const isRight = places.length === 0 && !isWrongMean;
    (isRight ? this.foundRight : this.foundWrong).add(event.part);
  }

  /**
   * Returns the places of workers whose numbers of a part are wrong, and whether its mean is. Numbers about a wrong
   * mean are its owner's fault alone.
   */
  wrong({
    part,
    digest,
    products,
    lengths,
  }: ByzantineEventOf<"mean_remade">): readonly [readonly number[], boolean] {
    if (this.means()[part] !== digest) return [[], true];
    const checks = this.statements.checks();
    const wrong = wrongChecks(checks, part, this.#byWorker(products), this.#byWorker(lengths));
    return [wrong.map((client) => this.roles.workers.indexOf(client)), false];
  }

  /** Returns a state that more than half signed; null if there is none. */
  majority(): string | null {
    for (const [state, count] of this.statements.states()) if (isMajority(this.roles, count)) return state;
    return null;
  }

  /** Returns what changes whenever something more may follow. */
  progress(): string {
    const { turn, basis } = this.turn;
    return [turn, basis, this.phase, this.said.size, this.exchanges, this.exchange === null].join(" ");
  }

  #byWorker(values: readonly number[]): Map<string, number> {
    return new Map(this.roles.workers.map((worker, i) => [worker, values[i] as number]));
  }
}
