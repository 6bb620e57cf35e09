/**
 * Attempts at links to one other peer, at most one by each way, and the open links. Owns the channels;
 * `NeighbourLinks` decides which one is used. Times are seconds of the context's clock.
 */

import { toHex } from "../../core/crypto/bytes";
import { readSignal, SESSION_BYTES, type SignalBody, writeSignal } from "../../protocol/mesh/signals";
import type { Way } from "../../protocol/wire/mesh";
import { AttemptSchedule } from "./attempt-schedule";
import type { BrowserWay, Channel, ChannelEvents } from "./channel";
import { DataChannelLink } from "./data-channel";
import type { LinkContext } from "./link-context";
import { RelayedLink } from "./relay-channel";

/** Seconds after which an attempt that is not open has failed. */
const ATTEMPT_SECONDS = 20;
/** Seconds without data after which the relay beside a better way ends. */
const SPARE_SECONDS = 30;
/** Number of ended sessions whose late signals are recognised. */
const MOST_ENDED = 64;

/** The peer at the other end: public id, key, and the ways that it supports. */
export interface RemotePeer {
  readonly client: string;
  readonly key: Uint8Array;
  readonly possible: ReadonlySet<Way>;
}

export interface LinkAttemptEvents {
  /** Returns the channel in use, if any. */
  inUse(): Channel | null;
  /** The best channel may have changed. */
  changed(): void;
  received(channel: Channel, frame: Uint8Array): void;
  drained(): void;
  /** The first frame of a sealed link. */
  greeting(): Uint8Array<ArrayBuffer>;
}

interface LinkAttempt<C extends Channel> {
  readonly channel: C;
  /** Whether this end began the session. */
  readonly mine: boolean;
  readonly begunAt: number;
}

export class LinkAttempts {
  readonly #other: RemotePeer;
  readonly #context: LinkContext;
  readonly #events: LinkAttemptEvents;
  readonly #leads: boolean;
  readonly #schedule: AttemptSchedule;
  #direct: LinkAttempt<DataChannelLink> | null = null;
  #relayed: LinkAttempt<RelayedLink> | null = null;
  #relayHeardAt = 0;
  readonly #ended: string[] = [];
  /** Incoming signals and parcels are handled one after the other, because checking them takes time. */
  #inbox: Promise<void> = Promise.resolve();
  /** Outgoing signals are sent in the order in which they were made. */
  #outbox: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(other: RemotePeer, context: LinkContext, events: LinkAttemptEvents) {
    this.#other = other;
    this.#context = context;
    this.#events = events;
    this.#leads = context.own < other.client;
    this.#schedule = new AttemptSchedule(other.possible, this.#leads, context.now());
  }

  /** The best open channel. */
  get best(): Channel | null {
    const open = (attempt: LinkAttempt<Channel> | null) => (attempt?.channel.open ? attempt.channel : null);
    return open(this.#direct) ?? open(this.#relayed);
  }

  /** Takes a signal that claims to be this peer's. */
  signalled(data: Uint8Array): void {
    const { task, own } = this.#context;
    const { client, key } = this.#other;
    this.#queueInbound(async () => {
      const signal = await readSignal(key, { task, from: client, to: own }, data);
      if (signal !== null && !this.#closed) await this.#receiveSignal(signal.session, signal.body);
    });
  }

  relayed(parcel: Uint8Array): void {
    this.#queueInbound(async () => this.#relayed?.channel.parcel(new Uint8Array(parcel)));
  }

  /** Ends the relay and unfinished attempts, since the server has no connection to the other peer. */
  unreachable(): void {
    this.#end("relay", true);
    if (this.#direct !== null && !this.#direct.channel.open) this.#end("webrtc", true);
  }

  /** Ends attempts that took too long, and a relay that is no longer needed. */
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

  /** Begins the attempts that are due. */
  go(now: number): void {
    if (this.#direct === null && this.#schedule.due("webrtc", now)) this.#begin("webrtc");
    const alone = this.#relayed === null && !this.#direct?.channel.open;
    if (alone && this.#schedule.due("relay", now)) this.#begin("relay");
  }

  /** Tries delayed ways immediately, since the other peer can be reached again. */
  retryDelayed(): void {
    this.#schedule.retryDelayed(this.#context.now());
  }

  /** Tries another link immediately, since the link in use is gone. */
  reconnect(): void {
    this.#schedule.reconnect(this.#context.now());
  }

  /** Ends a channel with invalid frames, and makes no attempts for a while. */
  avoid(channel: Channel): void {
    this.#end(channel.way, true);
    this.#schedule.rest(this.#context.now());
  }

  /** Ends all channels for now; the other peer is notified if possible. */
  rest(): void {
    this.#end("webrtc", true);
    this.#end("relay", true);
  }

  /** Ends all channels, and ignores whatever arrives later. */
  close(): void {
    this.rest();
    this.#closed = true;
  }

  #queueInbound(work: () => Promise<void> | undefined): void {
    this.#inbox = this.#inbox.then(work);
  }

  #begin(way: BrowserWay): void {
    const session = crypto.getRandomValues(new Uint8Array(SESSION_BYTES));
    const channel = this.#make(way, session, true);
    this.#queueInbound(() => this.#attempt(channel, () => channel.begin()));
  }

  #make(way: BrowserWay, session: Uint8Array, mine: boolean): Channel {
    const { configuration, own, relay, relayBuffered } = this.#context;
    const { client } = this.#other;
    const tell = (body: SignalBody) => this.#sendSignal(session, body);
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
        this.#schedule.succeeded(way);
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
        if (lost) this.reconnect();
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
    const existing = this.#attemptAt(way);
    // Both ends began: the session of the smaller id stays.
    if (existing?.mine && !existing.channel.open && this.#leads) return;
    this.#end(way, false);
    const channel = this.#make(way, session, false);
    await this.#attempt(channel, async () => {
      if (channel.way === "relay") await channel.begin();
      await channel.receiveSignal(body);
    });
    this.#events.changed();
  }

  /** Performs work on an attempt. A signal that the browser cannot apply makes the attempt fail. */
  async #attempt(channel: Channel, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch {
      if (this.#attemptAt(channel.way)?.channel === channel) this.#failed(channel, true);
    }
  }

  /** Ends an attempt that failed; `tell` says that this end gave it up. */
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
    if (tell) this.#sendSignal(attempt.channel.session, { kind: "bye", body: null });
  }

  #putOff(way: BrowserWay): void {
    const standing = way === "webrtc" && (this.#relayed?.channel.open ?? false);
    this.#schedule.failed(way, standing, this.#context.now());
  }

  #sendSignal(session: Uint8Array, body: SignalBody): void {
    const { task, own, identity, carry } = this.#context;
    const { client } = this.#other;
    const signed = writeSignal(identity, { task, from: own, to: client }, { session, body });
    this.#outbox = this.#outbox.then(async () => carry(client, await signed));
  }
}
