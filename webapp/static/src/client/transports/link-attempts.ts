/**
 * Attempts at links to one other peer, and what came of them: at most one by each way. Owns the channels; `Neighbour` says
 * which of them is used. Times are seconds of the surroundings' clock.
 */

import { toHex } from "../../core/crypto/bytes";
import { readSignal, SESSION_BYTES, type SignalBody, writeSignal } from "../../protocol/mesh/signals";
import type { Way } from "../../protocol/wire/mesh";
import { AttemptSchedule } from "./attempt-schedule";
import type { BrowserWay, Channel, ChannelEvents } from "./channel";
import { DataChannelLink } from "./data-channel";
import type { LinkContext } from "./link-context";
import { RelayedLink } from "./relay-channel";

/** An attempt that is not open by then has failed. */
const ATTEMPT_SECONDS = 20;
/** The relay beside a better way ends when nothing came over it for so long. */
const SPARE_SECONDS = 30;
/** Ended sessions whose late signals are known. */
const MOST_ENDED = 64;

/** Who is at the other end: public id and key, and by which ways. */
export interface RemotePeer {
  readonly client: string;
  readonly key: Uint8Array;
  readonly possible: ReadonlySet<Way>;
}

export interface LinkAttemptEvents {
  /** The channel that is used, if any. */
  inUse(): Channel | null;
  /** There may be another best channel. */
  changed(): void;
  received(channel: Channel, frame: Uint8Array): void;
  drained(): void;
  /** The first frame of a sealed link. */
  greeting(): Uint8Array<ArrayBuffer>;
}

interface LinkAttempt<C extends Channel> {
  readonly channel: C;
  /** This end drew the session. */
  readonly mine: boolean;
  readonly begunAt: number;
}

export class LinkAttempts {
  readonly #other: RemotePeer;
  readonly #context: LinkContext;
  readonly #events: LinkAttemptEvents;
  readonly #leads: boolean;
  readonly #trials: AttemptSchedule;
  #direct: LinkAttempt<DataChannelLink> | null = null;
  #relayed: LinkAttempt<RelayedLink> | null = null;
  #relayHeardAt = 0;
  readonly #ended: string[] = [];
  /** Signals and parcels one after the other, as they came: to look at them takes time. */
  #inbox: Promise<void> = Promise.resolve();
  /** Signals one after the other, as they were said. */
  #outbox: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(other: RemotePeer, context: LinkContext, events: LinkAttemptEvents) {
    this.#other = other;
    this.#context = context;
    this.#events = events;
    this.#leads = context.own < other.client;
    this.#trials = new AttemptSchedule(other.possible, this.#leads, context.now());
  }

  /** The best channel that is open. */
  get best(): Channel | null {
    const open = (attempt: LinkAttempt<Channel> | null) => (attempt?.channel.open ? attempt.channel : null);
    return open(this.#direct) ?? open(this.#relayed);
  }

  /** A signal that is said to be this peer's. */
  signalled(data: Uint8Array): void {
    const { task, own } = this.#context;
    const { client, key } = this.#other;
    this.#then(async () => {
      const signal = await readSignal(key, { task, from: client, to: own }, data);
      if (signal !== null && !this.#closed) await this.#receiveSignal(signal.session, signal.body);
    });
  }

  relayed(parcel: Uint8Array): void {
    this.#then(async () => this.#relayed?.channel.parcel(new Uint8Array(parcel)));
  }

  /** The server does not know where the other is: what goes through it is of no use. */
  unreachable(): void {
    this.#end("relay", true);
    if (this.#direct !== null && !this.#direct.channel.open) this.#end("webrtc", true);
  }

  /** Ends attempts that took too long, and a relay that nobody needs any more. */
  expire(now: number): void {
    for (const [way, attempt] of [
      ["webrtc", this.#direct],
      ["relay", this.#relayed],
    ] as const) {
      if (attempt === null || attempt.channel.open || now < attempt.begunAt + ATTEMPT_SECONDS) continue;
      this.#end(way, true);
      this.#putOff(way);
    }
    const spare = this.#relayed?.channel.open && this.#events.inUse()?.way === "webrtc";
    if (spare && now > this.#relayHeardAt + SPARE_SECONDS) this.#end("relay", true);
  }

  /** Begins what is due. */
  go(now: number): void {
    if (this.#direct === null && this.#trials.due("webrtc", now)) this.#begin("webrtc");
    const alone = this.#relayed === null && !this.#direct?.channel.open;
    if (alone && this.#trials.due("relay", now)) this.#begin("relay");
  }

  /** The other can be reached again: what was put off is tried at once. */
  nudge(): void {
    this.#trials.nudge(this.#context.now());
  }

  /** The link in use is gone: another is tried at once. */
  again(): void {
    this.#trials.again(this.#context.now());
  }

  /** The other does not speak the protocol there: it is left alone for a while. */
  shun(channel: Channel): void {
    this.#end(channel.way, true);
    this.#trials.rest(this.#context.now());
  }

  /** Ends all for now; the other is told where it can be. */
  rest(): void {
    this.#end("webrtc", true);
    this.#end("relay", true);
  }

  /** Nothing that comes is heard any more. */
  close(): void {
    this.rest();
    this.#closed = true;
  }

  #then(work: () => Promise<void> | undefined): void {
    this.#inbox = this.#inbox.then(work);
  }

  #begin(way: BrowserWay): void {
    const session = crypto.getRandomValues(new Uint8Array(SESSION_BYTES));
    const channel = this.#make(way, session, true);
    this.#then(() => this.#attempt(channel, () => channel.begin()));
  }

  #make(way: BrowserWay, session: Uint8Array, mine: boolean): Channel {
    const { configuration, own, relay, relayBuffered } = this.#context;
    const { client } = this.#other;
    const tell = (body: SignalBody) => this.#say(session, body);
    const events = this.#eventsOf(way, () => channel);
    const begunAt = this.#context.now();
    let channel: Channel;
    if (way === "webrtc") {
      const direct = new DataChannelLink(session, configuration, tell, events);
      this.#direct = { channel: direct, mine, begunAt };
      channel = direct;
    } else {
      const server = {
        send: (parcel: Uint8Array<ArrayBuffer>) => relay(client, parcel),
        get buffered() {
          return relayBuffered();
        },
      };
      const { greeting } = this.#events;
      const relayed = new RelayedLink(session, { own, other: client }, server, tell, greeting, events);
      this.#relayed = { channel: relayed, mine, begunAt };
      channel = relayed;
    }
    return channel;
  }

  #eventsOf(way: BrowserWay, channel: () => Channel): ChannelEvents {
    return {
      opened: () => {
        this.#trials.succeeded(way);
        this.#events.changed();
      },
      received: (frame) => {
        if (way === "relay") this.#relayHeardAt = this.#context.now();
        this.#events.received(channel(), frame);
      },
      closed: () => {
        if (this.#attemptAt(way)?.channel !== channel()) return;
        const lost = channel() === this.#events.inUse();
        this.#end(way, false);
        if (lost) this.again();
        else this.#putOff(way);
        this.#events.changed();
      },
      drained: () => this.#events.drained(),
    };
  }

  async #receiveSignal(session: Uint8Array, body: SignalBody): Promise<void> {
    const name = toHex(session);
    const attempt = [this.#direct, this.#relayed].find(
      (attempt) => attempt && toHex(attempt.channel.session) === name,
    );
    if (attempt) {
      if (body.kind === "bye") this.#failed(attempt.channel, false);
      else await this.#attempt(attempt.channel, () => attempt.channel.receiveSignal(body));
      return;
    }
    const way = body.kind === "seal" ? "relay" : "webrtc";
    const begins = body.kind === "seal" || (body.kind === "description" && body.body.type === "offer");
    if (!begins || this.#ended.includes(name) || !this.#other.possible.has(way)) return;
    const before = this.#attemptAt(way);
    // Both began: the session of the smaller id stays.
    if (before?.mine && !before.channel.open && this.#leads) return;
    this.#end(way, false);
    const channel = this.#make(way, session, false);
    await this.#attempt(channel, async () => {
      if (channel.way === "relay") await channel.begin();
      await channel.receiveSignal(body);
    });
    this.#events.changed();
  }

  /** What is said of an attempt may make no sense to the browser: then it has failed. */
  async #attempt(channel: Channel, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch {
      if (this.#attemptAt(channel.way)?.channel === channel) this.#failed(channel, true);
    }
  }

  /** One end gave this one up; `tell` says that it was this end. */
  #failed({ way }: Channel, tell: boolean): void {
    this.#end(way, tell);
    this.#putOff(way);
    this.#events.changed();
  }

  #attemptAt(way: BrowserWay): LinkAttempt<Channel> | null {
    return way === "webrtc" ? this.#direct : this.#relayed;
  }

  #end(way: BrowserWay, tell: boolean): void {
    const attempt = this.#attemptAt(way);
    if (attempt === null) return;
    if (way === "webrtc") this.#direct = null;
    else this.#relayed = null;
    attempt.channel.close();
    this.#ended.push(toHex(attempt.channel.session));
    if (this.#ended.length > MOST_ENDED) this.#ended.shift();
    if (tell) this.#say(attempt.channel.session, { kind: "bye", body: null });
  }

  #putOff(way: BrowserWay): void {
    const standing = way === "webrtc" && (this.#relayed?.channel.open ?? false);
    this.#trials.failed(way, standing, this.#context.now());
  }

  #say(session: Uint8Array, body: SignalBody): void {
    const { task, own, identity, carry } = this.#context;
    const { client } = this.#other;
    const signed = writeSignal(identity, { task, from: own, to: client }, { session, body });
    this.#outbox = this.#outbox.then(async () => carry(client, await signed));
  }
}
