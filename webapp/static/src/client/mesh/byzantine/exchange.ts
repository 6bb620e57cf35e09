/**
 * Hosts the machine of one Byzantine round: keeps the bytes, signs, and performs the machine's effects. Calculations
 * run in the averaging worker, so that the page answers meanwhile. The twin is
 * backend/peer/mesh/byzantine/exchange.py.
 */

import { type Bytes, fromHex, sha256, toHex } from "../../../core/crypto/bytes";
import type { Identity } from "../../../core/crypto/keys";
import type { Statement, TurnOfRound } from "../../../core/crypto/statements";
import { partBounds } from "../../../core/numerics/butterfly/parts";
import { later, messageOf } from "../../../core/user-messages";
import { encodeState, type TellState } from "../../../protocol/mesh/byzantine/encoded-state";
import type { TurnSaid } from "../../../protocol/mesh/byzantine/evidence/ban-evidence";
import { turnSaid } from "../../../protocol/mesh/byzantine/evidence/building";
import { ByzantineRound } from "../../../protocol/mesh/byzantine/machine";
import { identities } from "../../../protocol/mesh/byzantine/membership";
import type {
  ByzantineEffect,
  ByzantineEffectOf,
  ByzantineEvent,
  Removal,
} from "../../../protocol/mesh/byzantine/round-events";
import type { AgreedState } from "../../../protocol/mesh/byzantine/state";
import type { Turn } from "../../../protocol/mesh/byzantine/turn";
import type { GroupOrder } from "../../../protocol/wire/mesh";
import type { AveragingWorker } from "../../workers/averaging-worker";
import { GroupError } from "../exchange";
import { type GroupLinks, Sender } from "../sender";
import type { RoundContents } from "./contents";
import type { RoundWork } from "./mesh-states";
import { type RoundInput, RoundJobs } from "./round-jobs";
import { RoundSignatures, type SayFrame } from "./round-signatures";
import { type ShowFrame, ShownBytes } from "./shown-bytes";

const COIN_BYTES = 32;
/** Statements of one link whose signatures are being checked; all that a member can say and pass on at once. */
const MOST_UNCHECKED = 1024;

/**
 * The agreed state, and its contents where this member computed it; `proof` is for others. `active` are those who ended
 * with it, `work` is what they committed to, and `said` what they judged and signed.
 */
export interface AgreedRound {
  readonly state: AgreedState;
  readonly proof: TellState;
  readonly weights: Bytes;
  readonly slots: Bytes;
  readonly active: readonly string[];
  readonly work: RoundWork;
  readonly said: TurnSaid;
}

/** The members agreed on the `state` (SHA-256), which this one did not compute. */
export class UnknownStateError extends GroupError {
  constructor(readonly state: string) {
    super(later("The members agreed on another state than this device computed."));
  }
}

export interface ByzantineExchangeOptions {
  readonly order: GroupOrder;
  readonly given: RoundInput;
  readonly task: string;
  /** This peer's public id. */
  readonly own: string;
  readonly identity: Identity;
  /** The identities of all in the mesh, by client. */
  readonly clients: ReadonlyMap<string, string>;
  readonly links: GroupLinks;
  readonly worker: AveragingWorker;
  readonly contents: RoundContents;
  /** Takes a removed client, and the statements that convict it, if any do. */
  readonly removed: (client: string, why: Removal, said: TurnSaid | null) => void;
}

/** Kept until it is `over`: others may need this member's statements after it has the result. */
export class ByzantineExchange {
  /** Rejects with a GroupError. */
  readonly result: Promise<AgreedRound>;
  readonly #options: ByzantineExchangeOptions;
  readonly #begunAt = now();
  readonly #others: readonly string[];
  readonly #signatures: RoundSignatures;
  readonly #shown: ReadonlyMap<string, ShownBytes>;
  readonly #sender: Sender;
  readonly #machine: ByzantineRound;
  readonly #jobs: RoundJobs;
  /** By link, the check of its last statement, and how many wait. */
  readonly #checks = new Map<string, { last: Promise<void>; waiting: number }>();
  #turn: TurnOfRound;
  /** The active members of the turn. */
  #active: readonly string[];
  /** Own statements are signed one after the other. */
  #saying: Promise<unknown> = Promise.resolve();
  #settle: (outcome: AgreedRound) => void = () => undefined;
  #refuse: (problem: Error) => void = () => undefined;
  #settled = false;
  #closed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ByzantineExchangeOptions) {
    const { order, given, task, own, identity, links } = options;
    this.#options = options;
    this.#jobs = new RoundJobs(options);
    this.#signatures = new RoundSignatures(identity, { round: order.round, group: order.group });
    const clients = new Map([...options.clients, ...identities(given.state.membership)]);
    this.#others = [...clients.keys()].filter((client) => client !== own).sort();
    this.#shown = new Map(this.#others.map((client) => [client, new ShownBytes(given.weights.length)]));
    this.#sender = new Sender(links, [own, ...this.#others].sort(), own);
    const { rules, state } = given;
    const { terms, run } = rules;
    const bounds = (parts: number) => partBounds(given.weights.length / 4, parts);
    const attempt = [order.round, order.group] as const;
    const begin = { task, run, terms, state, attempt, client: own, clients, bounds, toss };
    this.#machine = new ByzantineRound(begin, this.#begunAt);
    this.#turn = this.#machine.turn.turn;
    this.#active = this.#machine.turn.roles.active;
    this.result = new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#refuse = reject;
    });
    // A caller that does not await the result must not cause an unhandled rejection.
    this.result.catch(() => undefined);
  }

  /** Whether no member needs this one any more. */
  get over(): boolean {
    const { seconds, patience } = this.#options.order;
    return this.#closed || (this.#settled && now() > this.#begunAt + seconds + 2 * patience);
  }

  /** Whether it has ended for this member, with a result or without one. */
  get isSettled(): boolean {
    return this.#settled;
  }

  /** Begins with what the member judged. */
  start(): void {
    this.#handle({ type: "round_time_passed" });
    for (const judgement of this.#options.given.judgements) this.#handle({ type: "work_judged", judgement });
  }

  /** Takes a frame of this attempt. */
  receive(client: string, frame: SayFrame | ShowFrame): void {
    const shown = this.#shown.get(client);
    if (this.#closed || shown === undefined) return;
    if (frame.type === "say") this.#hear(client, frame);
    else this.#takeChunk(shown, frame);
  }

  /** Takes the loss of the link to a client, and of unfinished bytes on it. */
  down(client: string): void {
    this.#shown.get(client)?.clear();
    this.#sender.drop(client);
  }

  /** Ends the exchange; a waiting `result` rejects. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#sender.clear();
    this.#fail(new GroupError(later("The group was left before it ended.")));
  }

  // The machine.

  #handle(event: ByzantineEvent): void {
    if (this.#closed) return;
    const before = this.#turn;
    for (const effect of this.#machine.happened(event, now())) this.#perform(effect);
    this.#setTimer();
    if (this.#turn === before) return;
    for (const [client, frame] of this.#signatures.takeEarly()) this.#hear(client, frame);
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const due = this.#machine.timer();
    if (due === null) return;
    const milliseconds = Math.max(0, 1000 * (due - now()));
    this.#timer = setTimeout(() => this.#handle({ type: "round_time_passed" }), milliseconds);
  }

  #hear(client: string, frame: SayFrame): void {
    const turn = this.#turn;
    if (frame.turn > turn.turn) this.#signatures.keepEarly(client, frame);
    if (frame.turn !== turn.turn) return;
    const checks = this.#checks.get(client) ?? { last: Promise.resolve(), waiting: 0 };
    this.#checks.set(client, checks);
    if (checks.waiting >= MOST_UNCHECKED) return;
    checks.waiting += 1;
    checks.last = checks.last.then(async () => {
      // A later turn may have begun before or meanwhile.
      const received = turn === this.#turn ? this.#signatures.received(turn, frame) : null;
      // What a browser cannot check nobody has said.
      const heard = received && (await received.catch(() => null));
      checks.waiting -= 1;
      if (heard !== null && turn === this.#turn) this.#handle({ type: "statement_received", ...heard });
    });
  }

  #perform(effect: ByzantineEffect): void {
    const { contents } = this.#options;
    switch (effect.type) {
      case "turn_begins":
        // Effects before this one belong to the last turn.
        this.#turn = this.#machine.turn.turn;
        this.#active = this.#machine.turn.roles.active;
        this.#run(() => this.#jobs.cut(effect.works ? effect.parts : 0));
        return;
      case "say_to_all":
        this.#say(() => this.#signatures.say(effect.turn, effect.statement));
        return;
      case "pass_on":
        this.#say(() => this.#signatures.passOn(effect.turn, effect.statement));
        return;
      case "send_bytes":
        for (const client of effect.clients) this.#send(client, effect.digest, contents.get(effect.digest));
        return;
      case "remove_client":
        void this.#remove(effect, this.#active);
        return;
      case "finish_round":
        void this.#finish(effect.state);
        return;
      case "adopt_state":
        this.#fail(new UnknownStateError(effect.state));
        return;
      case "fail_round":
        this.#fail(new GroupError(effect.reason));
        return;
      default:
        if (this.#turn === this.#machine.turn.turn)
          this.#run(() => this.#jobs.answer(effect, this.#machine.turn));
    }
  }

  #fail(error: Error): void {
    this.#settled = true;
    this.#refuse(error);
  }

  async #remove(
    { client, why, statements, turn }: ByzantineEffectOf<"remove_client">,
    active: readonly string[],
  ): Promise<void> {
    // Own statements may be among them, and still be signed.
    await this.#saying;
    this.#options.removed(client, why, statements.length > 0 ? this.#said(turn, statements, active) : null);
  }

  /** Returns statements of a turn with their signatures. */
  #said(turn: TurnOfRound, statements: readonly Statement[], active: readonly string[]): TurnSaid {
    const { order, given } = this.#options;
    const signed = this.#signatures.signed(turn, statements);
    return turnSaid(given.state, [order.round, order.group], turn.turn, active, signed);
  }

  async #finish(state: AgreedState): Promise<void> {
    const { given, order } = this.#options;
    const { log, roles } = this.#machine.turn;
    const { stepped } = this.#jobs;
    const turn = this.#turn;
    if (this.#settled || stepped === null) return;
    const verdicts = [...log.said("verdict").keys()].map((client) => log.statementOf("verdict", client));
    const judged = roles.active.map((client) => log.statementOf("commit", client));
    const work = workIn(this.#machine.turn, given.state, state);
    // The own verdict may still be being signed.
    await this.#saying;
    const proof: TellState = {
      type: "tell_state",
      state: encodeState(state),
      attempt: [order.round, order.group],
      turn: turn.turn,
      active: roles.active,
      verdicts: this.#signatures.signed(turn, verdicts),
    };
    this.#settled = true;
    const said = this.#said(turn, [...judged, ...verdicts], roles.active);
    this.#settle({ state, proof, ...stepped, active: roles.active, work, said });
  }

  // Frames and bytes.

  #say(makeFrame: () => Promise<SayFrame | null>): void {
    this.#saying = this.#saying.then(async () => {
      const frame = await makeFrame();
      if (frame === null || this.#closed) return;
      for (const client of this.#others) this.#options.links.send(client, frame);
    });
  }

  #send(client: string, digest: string, bytes: Bytes): void {
    const { round, group } = this.#options.order;
    const head = { type: "show", round, group, digest: fromHex(digest), size: bytes.length } as const;
    this.#sender.add(client, () => Promise.resolve({ head, bytes }));
  }

  #takeChunk(shown: ShownBytes, frame: ShowFrame): void {
    let bytes: Bytes | null;
    try {
      bytes = shown.take(frame);
    } catch (error) {
      // What it committed to and does not show in order it does not show.
      if (error instanceof RangeError) return;
      throw error;
    }
    if (bytes !== null) void this.#keepShown(toHex(frame.digest), bytes);
  }

  async #keepShown(digest: string, bytes: Bytes): Promise<void> {
    if (toHex(await sha256(bytes)) !== digest) return;
    this.#options.contents.add(this.#options.given.state.round + 1, digest, bytes);
    this.#handle({ type: "bytes_received", digest });
  }

  // Calculations.

  /** Reports what a job found, unless another turn has begun meanwhile: then it is about other pieces. */
  #run(job: () => Promise<ByzantineEvent>): void {
    const turn = this.#turn;
    job().then(
      (event) => {
        if (turn === this.#turn) this.#handle(event);
      },
      (error: unknown) => this.#fail(new GroupError(messageOf(error))),
    );
  }
}

/** Returns what was done in the turn after which `base` became `state`. */
function workIn(turn: Turn, base: AgreedState, state: AgreedState): RoundWork {
  const { log, roles, statements } = turn;
  const commits = log.said("commit");
  const pieces = new Map<string, readonly string[]>();
  for (const { client, commit } of state.works) {
    const body = commits.get(client);
    if (body?.type === "commit" && log.digestOf("commit", client) === commit) pieces.set(client, body.pieces);
  }
  return {
    base,
    pieces,
    workers: roles.workers,
    means: turn.means(),
    checks: statements.checks(),
    coin: state.coin,
  };
}

function toss(): readonly [string, string] {
  const draw = () => toHex(crypto.getRandomValues(new Uint8Array(COIN_BYTES)));
  return [draw(), draw()];
}

function now(): number {
  return performance.now() / 1000;
}
