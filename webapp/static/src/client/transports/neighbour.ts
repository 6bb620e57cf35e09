/**
 * The links to one other peer: chooses the link in use, and monitors its heartbeats. Times are seconds of a clock
 * that `LinkManager` reads.
 */

import { decodePeer, encodeMesh, type PeerFrame, type Way } from "../../protocol/wire/mesh";
import type { Channel } from "./channel";
import { isProbe, Keepalive, probeChunks } from "./keepalive";
import { LinkAttempts } from "./link-attempts";
import type { LinkContext } from "./link-context";
import { ThroughputMeter } from "./throughput";

/** A link without data for this time, and for this multiple of `patience`, is dead. */
const DEAD_SECONDS = 12;
const DEAD_PATIENCES = 3;
/** Seconds in which a link must answer after a sleep or a change of the network. */
const PROBE_SECONDS = 3;
/** Seconds without frames other than heartbeats after which a better way is taken. */
const IDLE_SECONDS = 1;

export class NeighbourLinks {
  readonly #context: LinkContext;
  readonly #attempts: LinkAttempts;
  #channel: Channel | null = null;
  #keepalive: Keepalive;
  #meter = new ThroughputMeter();
  #silenceReported = false;
  #proveBy: number | null = null;
  /** When a frame other than a heartbeat was last sent. */
  #sentAt = Number.NEGATIVE_INFINITY;
  /** Whether this end makes links; links made by the other end are kept in any case. */
  isTarget = true;
  /** Bytes received and sent over all links to the peer. */
  heardBytes = 0;
  sentBytes = 0;

  constructor(
    readonly client: string,
    readonly identity: Uint8Array,
    possible: Iterable<Way>,
    context: LinkContext,
  ) {
    this.#context = context;
    this.#keepalive = new Keepalive(context.now());
    this.#attempts = new LinkAttempts({ client, key: identity, possible: new Set(possible) }, context, {
      inUse: () => this.#channel,
      changed: () => this.#pick(),
      received: (channel, frame) => this.#receive(channel, frame),
      drained: () => {
        this.#meter.look(this.buffered, context.now());
        context.drained(client);
      },
      greeting: () => encodeMesh(this.#keepalive.beat(context.now())),
    });
  }

  get way(): Way | null {
    return this.#channel?.way ?? null;
  }

  get buffered(): number {
    return this.#channel?.buffered ?? 0;
  }

  get room(): number {
    return this.#channel?.room ?? 0;
  }

  /** Requests a report when fewer than `below` bytes wait. */
  notice(below: number): void {
    this.#channel?.notice(below);
  }

  /** The round-trip time in seconds, and the rate in bytes per second; 0 if unknown. */
  get measures(): { readonly seconds: number; readonly rate: number } {
    const { seconds, probedRate } = this.#keepalive;
    return { seconds, rate: this.#meter.rate || probedRate };
  }

  /** Sends a frame; returns false without a link. */
  send(frame: PeerFrame, bulk: boolean): boolean {
    const channel = this.#channel;
    if (channel === null) return false;
    const bytes = encodeMesh(frame);
    channel.send(bytes, bulk);
    this.sentBytes += bytes.length;
    if (frame.type !== "beat") this.#sentAt = this.#context.now();
    this.#meter.gave(bytes.length, channel.buffered, this.#context.now());
    return true;
  }

  /** Takes a signal that claims to be this peer's. */
  signalled(data: Uint8Array): void {
    this.#attempts.signalled(data);
  }

  relayed(parcel: Uint8Array): void {
    this.#attempts.relayed(parcel);
  }

  /** Reports that the server has no connection to the other peer. */
  unreachable(): void {
    this.#attempts.unreachable();
    this.#pick();
  }

  /** Reports that the other peer can be reached again. */
  nudge(): void {
    if (this.#channel === null) this.#attempts.retryDelayed();
  }

  /** Requires the link to show that it is alive. */
  probe(): void {
    const now = this.#context.now();
    this.#keepalive.received(now);
    this.#keepalive.hurry();
    this.#proveBy = now + PROBE_SECONDS;
    this.nudge();
  }

  /** Reports a silence to the next group, too, even if the last one was notified. */
  groupBegan(): void {
    this.#silenceReported = false;
  }

  tick(): void {
    const now = this.#context.now();
    this.#attempts.expire(now);
    if (this.isTarget) this.#attempts.go(now);
    this.#pick();
    const patience = this.#context.patience();
    if (this.#channel === null) return;
    this.#meter.look(this.#channel.buffered, now);
    const beat = this.#keepalive.due(patience, now);
    if (beat !== null) this.send(beat, false);
    this.#measure(now);
    const silence = this.#keepalive.silence(now);
    if (patience !== null && silence > patience && !this.#silenceReported) {
      this.#silenceReported = true;
      this.#context.silent(this.client);
    }
    const proofIsDue = this.#proveBy !== null && now > this.#proveBy;
    if (proofIsDue || silence > Math.max(DEAD_SECONDS, DEAD_PATIENCES * (patience ?? 0))) this.#dead();
  }

  /** Ends all links to this peer for now; it is notified if possible. */
  rest(): void {
    this.#attempts.rest();
    this.#pick();
  }

  /** Ends all links to this peer. */
  close(): void {
    this.#attempts.close();
    this.#pick();
  }

  /** Whether no frame is in transit that one on another link could overtake. */
  get #idle(): boolean {
    return this.#context.patience() === null && this.#context.now() > this.#sentAt + IDLE_SECONDS;
  }

  /** Measures the rate of a new link by a probe, outside of groups and beside no other frames. */
  #measure(now: number): void {
    if (!this.#idle || this.measures.rate > 0 || !this.#keepalive.wantsProbe) return;
    for (const chunk of probeChunks(this.room)) this.send(chunk, false);
    this.send(this.#keepalive.probe(now), false);
  }

  #dead(): void {
    this.#proveBy = null;
    this.rest();
    this.#attempts.reconnect();
  }

  /** Uses the best open link; within a group the link in use is kept while it is open. */
  #pick(): void {
    const { best } = this.#attempts;
    const previous = this.#channel;
    if (best === previous || (previous?.open && best !== null && !this.#idle)) return;
    this.#channel = best;
    if (best === null) {
      this.#context.down(this.client);
      return;
    }
    if (previous === null) this.#keepalive = new Keepalive(this.#context.now());
    this.#meter = new ThroughputMeter();
    this.#silenceReported = false;
    this.#context.up(this.client, best.way);
  }

  #receive(channel: Channel, bytes: Uint8Array): void {
    const now = this.#context.now();
    this.heardBytes += bytes.length;
    this.#keepalive.received(now);
    this.#proveBy = null;
    if (this.#silenceReported && this.#channel !== null) this.#context.up(this.client, this.#channel.way);
    this.#silenceReported = false;
    let frame: PeerFrame;
    try {
      frame = decodePeer(bytes);
    } catch {
      this.#attempts.avoid(channel);
      this.#pick();
      return;
    }
    if (frame.type === "beat") this.#keepalive.beaten(frame, now);
    else if (!isProbe(frame)) this.#context.received(this.client, frame);
  }
}
