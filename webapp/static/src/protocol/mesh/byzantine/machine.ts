/**
 * The machine of one member in one round of a Byzantine mesh: events in, effects out, no I/O. A round is done in turns:
 * commit, made, reveal, check, verdict, each of which ends when all active members said what is due. A doubted mean is
 * made again by each. Where it is wrong, somebody said nothing, or two things, all statements are exchanged, and the
 * turn continues or is done again without those at fault. docs/decisions/0101-byzantine-rounds.md says why no two honest members end with different
 * states. The twin is backend/protocols/mesh/byzantine/machine.py.
 */

import { fromHex, toHex } from "../../../core/crypto/bytes";
import {
  coinCommitment,
  type Statement,
  statementDigest,
  type TurnOfRound,
} from "../../../core/crypto/statements";
import { later } from "../../../core/user-messages";
import { StatementExchange } from "./exchange";
import { identities } from "./membership";
import { nextState } from "./next-state";
import { type Outcome, outcomeOf } from "./outcome";
import { basisOf, isMajority, rolesOf } from "./roles";
import type { ByzantineEffect, ByzantineEvent, ByzantineEventOf, Removal, RoundBegin } from "./round-events";
import { stateDigest } from "./state";
import { type Body, type BodyOf, encodeBody, type WorkFinding } from "./statement-bodies";
import { type Asked, Turn } from "./turn";
import { numbered, PHASES, TurnLog } from "./turn-log";

/** Owned by its host, which has the keys: it signs what this member says, and checks what others said. */
export class ByzantineRound {
  /** With a result or without one this member still takes part in exchanges. */
  over = false;
  turn: Turn;
  readonly #clients: ReadonlyMap<string, string>;
  readonly #removed = new Map<string, Removal>();
  readonly #judgements: WorkFinding[] = [];
  readonly #available = new Set<string>();
  #effects: ByzantineEffect[] = [];
  #turns = 0;
  #now: number;

  constructor(
    private readonly begin: RoundBegin,
    now: number,
  ) {
    const known = identities(begin.state.membership);
    const taken = new Set(known.values());
    // Identities are public: a stranger may show a member's.
    const strangers = [...begin.clients].filter(([one, key]) => !taken.has(key) && !known.has(one));
    this.#clients = new Map([...known, ...strangers]);
    this.#now = now;
    this.turn = this.#nextTurn();
  }

  // What the host calls.

  /** Returns the effects of an event, and of the begin. One that makes no sense changes nothing. */
  happened(event: ByzantineEvent, now: number): readonly ByzantineEffect[] {
    this.#noticePause(now);
    this.#now = Math.max(now, this.#now);
    this.#take(event);
    this.#proceed();
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /** Returns when `round_time_passed` is due; null if nothing changes with time. */
  timer(): number | null {
    if (this.turn.exchange !== null) return this.turn.exchange.timer();
    return this.over ? null : this.turn.due;
  }

  // Events.

  /** Ends without a result if this page slept: what it did not hear in time may matter. */
  #noticePause(now: number): void {
    const due = this.timer();
    if (due === null || now <= due + this.begin.terms.patience / 2 || this.over) return;
    this.#fail(later("This device slept during the round, or was too busy."));
    this.turn.exchange = null;
  }

  #take(event: ByzantineEvent): void {
    const { turn } = this;
    switch (event.type) {
      case "work_ready":
        this.#takeWork(event.pieces);
        return;
      case "work_judged":
        this.#judgements.push(event.judgement);
        return;
      case "statement_received":
        this.#hear(event);
        return;
      case "bytes_received":
        this.#available.add(event.digest);
        return;
      case "mean_made":
        if (!turn.asked.has("made") || turn.mean !== null) return;
        turn.mean = event.digest;
        this.#available.add(event.digest);
        return;
      case "means_checked":
        if (turn.asked.has("checked")) turn.checked ??= event;
        return;
      case "mean_remade":
        if (turn.exchange !== null) turn.exchange.remade(event.part, ...turn.wrong(event));
        else if (!this.over) turn.remade(event);
        return;
      case "outer_stepped":
        if (turn.asked.has("stepped")) turn.stepped ??= event;
        return;
      case "round_time_passed":
        return;
    }
  }

  #takeWork(pieces: readonly string[]): void {
    const { turn } = this;
    // Of an earlier turn there were more parts.
    if (turn.pieces !== null || pieces.length !== (turn.works ? turn.roles.workers.length : 0)) return;
    turn.pieces = pieces;
    for (const digest of pieces) this.#available.add(digest);
  }

  #hear({ statement, signers }: ByzantineEventOf<"statement_received">): void {
    const { log, exchange, early } = this.turn;
    if (log.knows(statement)) return;
    if (exchange !== null && !exchange.counts(statement, signers, this.#now)) {
      // It may have been said after an exchange that this member has not ended yet.
      early.add(statement);
      return;
    }
    const client = log.add(statement);
    if (client !== null) exchange?.learned(statement, client, this.#now);
  }

  // The phases.

  #nextTurn(): Turn {
    this.#turns += 1;
    const { state, terms, task, run, attempt, client, bounds } = this.begin;
    const roles = rolesOf(state, terms.validators, this.#removed);
    const basis = basisOf(state, attempt, roles.active);
    const ofRound: TurnOfRound = { task, run, round: state.round + 1, turn: this.#turns, basis };
    const log = new TurnLog(ofRound, this.#clients);
    const [coin, salt] = this.begin.toss();
    const due = this.#now + terms.seconds;
    const turn = new Turn({ client, roles, log, radius: state.radius, bounds, coin, salt, due });
    if (!isMajority(roles, roles.active.length) || roles.workers.length === 0)
      this.#fail(later("Too few members are left."));
    else if (!roles.active.includes(client)) this.#fail(later("The round continues without this member."));
    else {
      const parts = roles.workers.length;
      this.#effects.push({ type: "turn_begins", turn: this.#turns, parts, works: turn.works });
    }
    return turn;
  }

  /** Says what is due and enters the next phases, until nothing changes any more. */
  #proceed(): void {
    let before: string;
    do {
      before = this.turn.progress();
      if (this.turn.exchange !== null) this.#goOnExchanging();
      else if (this.#isCalled()) this.#call();
      const { exchange } = this.turn;
      if (!this.over && (exchange === null || exchange.maySpeak(this.#now))) {
        this.#speak();
        this.#advance();
      }
    } while (before !== this.turn.progress() && !(this.over && this.turn.exchange === null));
  }

  /** Says what this member has to say in its phase, if it is ready. */
  #speak(): void {
    const { phase, said } = this.turn;
    if (said.has(phase)) return;
    const body = this.#bodyOfPhase();
    if (body !== null) this.#say(phase, body);
  }

  #bodyOfPhase(): Body | null {
    const { phase, pieces } = this.turn;
    const { coin, salt } = this.turn.begin;
    switch (phase) {
      case "commit": {
        if (pieces === null) return null;
        const commitment = toHex(coinCommitment(this.begin.client, fromHex(coin), fromHex(salt)));
        return { type: "commit", pieces, coin: commitment, judgements: [...this.#judgements] };
      }
      case "made":
        return this.#made();
      case "reveal":
        return { type: "reveal", coin, salt };
      case "check":
        return this.#check();
      case "verdict":
        return this.#verdict();
    }
  }

  #made(): BodyOf<"made"> | null {
    const { turn } = this;
    const newcomers = turn.seenNewcomers(this.begin.state, this.#clients);
    if (turn.pieces === null || !turn.works) return { type: "made", mean: "", newcomers };
    if (!turn.asked.has("sent")) {
      turn.asked.add("sent");
      const keepers = turn.keepers();
      for (const [i, digest] of turn.pieces.entries()) {
        const owner = keepers[i] as string;
        if (owner !== this.begin.client) this.#effects.push({ type: "send_bytes", digest, clients: [owner] });
      }
    }
    const pieces = turn.piecesOf(turn.part);
    const radius = turn.partRadius(turn.part);
    this.#ask("made", pieces, { type: "make_mean", part: turn.part, pieces, radius });
    if (turn.mean === null) return null;
    this.#effects.push({ type: "send_bytes", digest: turn.mean, clients: turn.others() });
    return { type: "made", mean: turn.mean, newcomers };
  }

  #check(): BodyOf<"check"> | null {
    const { turn } = this;
    if (!turn.works) return { type: "check", products: [], lengths: [] };
    const means = turn.means();
    const { radius } = this.begin.state;
    this.#ask("checked", means, { type: "check_means", coin: turn.tossed(), means, radius });
    if (turn.checked === null) return null;
    return { type: "check", products: turn.checked.products, lengths: turn.checked.lengths };
  }

  /** Signs the state that follows; none while a mean is doubted, or others agreed on another one. */
  #verdict(): BodyOf<"verdict"> | null {
    const { turn } = this;
    const { state, terms } = this.begin;
    const doubted = turn.asked.has("stepped") ? [] : turn.doubted(terms);
    if (doubted.length > 0) {
      this.#remake(doubted);
      return null;
    }
    const means = turn.means();
    // The first round of a measured radius only measures it.
    this.#ask("stepped", means, { type: "take_outer_step", means: state.radius !== 0 ? means : [] });
    if (turn.stepped === null) return null;
    const { weights, slots } = turn.stepped;
    const result = { statements: turn.statements, removed: this.#removed, sizes: turn.sizes };
    turn.next = nextState(state, terms, { ...result, weights, slots });
    const digest = stateDigest(turn.next);
    const majority = turn.majority();
    return majority === null || majority === digest ? { type: "verdict", state: digest } : null;
  }

  /** Shows its own pieces of doubted parts to all, and makes their means again of everybody's. */
  #remake(parts: readonly number[]): void {
    const { turn } = this;
    for (const part of parts) {
      const own = turn.pieces?.[part];
      if (own !== undefined && !turn.asked.has(`shown ${part}`)) {
        turn.asked.add(`shown ${part}`);
        this.#effects.push({ type: "send_bytes", digest: own, clients: turn.others() });
      }
      this.#ask(`remade ${part}`, turn.piecesOf(part), this.#meanAgain(part));
    }
  }

  #meanAgain(part: number): ByzantineEffect {
    const { turn } = this;
    const pieces = turn.piecesOf(part);
    return { type: "remake_mean", part, pieces, radius: turn.partRadius(part), coin: turn.tossed() };
  }

  /** Asks the host once, as soon as it has all bytes. */
  #ask(what: Asked, needed: readonly string[], effect: ByzantineEffect): void {
    const { asked } = this.turn;
    if (asked.has(what) || !needed.every((digest) => this.#available.has(digest))) return;
    asked.add(what);
    this.#effects.push(effect);
  }

  /** Enters the next phase once all said what is due in this one; decides in the last. */
  #advance(): void {
    const { turn } = this;
    if (turn.phase !== "verdict" && turn.statements.lacking(turn.phase).length === 0) {
      turn.phase = PHASES[PHASES.indexOf(turn.phase) + 1] ?? "verdict";
      turn.due = this.#now + 2 * this.begin.terms.patience;
    } else if (turn.exchange === null) {
      if (turn.phase === "verdict") this.#decide();
      // An exchange may have begun.
      if (!this.over && this.#now >= turn.due && this.turn.exchange === null) this.#call();
    }
  }

  /** All active signed the same state; or most did, and for the patience nobody signed another. */
  #decide(): void {
    const { turn } = this;
    const { patience } = this.begin.terms;
    const states = turn.statements.states();
    const agreed = turn.majority();
    if (states.size > 1 || (turn.next === null && turn.isWrong())) this.#call();
    else if (agreed !== null) {
      turn.majorityAt ??= this.#now;
      const isEverybody = states.get(agreed) === turn.roles.active.length;
      if (isEverybody || this.#now >= turn.majorityAt + patience) this.#end(agreed);
      else turn.due = Math.max(turn.due, turn.majorityAt + patience);
    }
  }

  // Exchanges.

  /**
   * Whether an active member calls for an exchange. While others may still work nobody has lacked anything yet,
   * whatever is said.
   */
  #isCalled(): boolean {
    const { turn } = this;
    const called = turn.log.said(numbered("call", turn.exchanges + 1));
    const early = turn.phase === "commit" && this.#now < turn.due;
    return !early && turn.roles.active.some((client) => called.has(client));
  }

  /** Begins an exchange of all statements, or joins one. */
  #call(): void {
    const { turn } = this;
    const { client, terms } = this.begin;
    turn.exchanges += 1;
    turn.exchange = new StatementExchange(turn, client, this.#now, terms.patience);
    const doubts = turn.phase === "verdict" && turn.next === null;
    const lacks = this.over ? [] : turn.lacks(this.#available);
    const body = turn.exchange.call(turn.phase, lacks, doubts ? turn.doubted(terms) : []);
    this.#say(numbered("call", turn.exchanges), body);
  }

  #goOnExchanging(): void {
    const { turn } = this;
    const { exchange } = turn;
    if (exchange === null) return;
    exchange.proceed(this.#now, this.#available);
    const shown = exchange.toSay();
    if (shown !== null) this.#say(numbered("shown", turn.exchanges), shown);
    for (const part of exchange.toRemake()) this.#effects.push(this.#meanAgain(part));
    this.#effects.push(...exchange.flush());
    if (exchange.isOver(this.#now)) {
      turn.exchange = null;
      const { statements, exchanges, excused, settled, deferred } = turn;
      this.#apply(outcomeOf(statements, exchanges, excused, settled, deferred));
    }
  }

  #apply(outcome: Outcome): void {
    if (this.over) return;
    const { turn } = this;
    switch (outcome.type) {
      case "decided":
        this.#end(outcome.state);
        return;
      case "removed":
        for (const [client, why] of outcome.why) {
          const statements = turn.statements.evidence(client, why);
          this.#effects.push({ type: "remove_client", client, why, statements, turn: turn.turn });
          this.#removed.set(client, why);
        }
        this.turn = this.#nextTurn();
        return;
      case "resumed":
        for (const one of outcome.excused) turn.excused.add(one);
        for (const part of outcome.settled) turn.settled.add(part);
        for (const part of outcome.deferred) turn.deferred.add(part);
        turn.due = this.#now + 2 * this.begin.terms.patience;
        turn.hearEarly();
    }
  }

  // The end, and what is said.

  #end(digest: string): void {
    this.over = true;
    const { next } = this.turn;
    const isKnown = next !== null && stateDigest(next) === digest;
    this.#effects.push(
      isKnown ? { type: "finish_round", state: next } : { type: "adopt_state", state: digest },
    );
  }

  #fail(reason: string): void {
    this.over = true;
    this.#effects.push({ type: "fail_round", reason });
  }

  #say(phase: string, body: Body): void {
    const { turn } = this;
    const identity = fromHex(this.#clients.get(this.begin.client) as string);
    const statement: Statement = { identity, phase, before: turn.follows(phase), body: encodeBody(body) };
    turn.last = statementDigest(turn.turn, statement);
    turn.said.add(phase);
    turn.log.add(statement);
    this.#effects.push({ type: "say_to_all", statement, turn: turn.turn });
  }
}
