/**
 * All that this peer has to do with one other: the link in use of those that there are, and its signs of life. Times are
 * seconds of a clock that `Links` reads.
 */

import { decodePeer, encodeMesh, type PeerFrame, type Way } from "../../protocol/wire/mesh";
import type { Channel } from "./channel";
import { Keepalive } from "./keepalive";
import { LinkAttempts } from "./link-attempts";
import type { LinkContext } from "./link-context";
import { ThroughputMeter } from "./throughput";

/** A link over which nothing came for so long, and for so many patiences, is dead. */
const DEAD_SECONDS = 12;
const DEAD_PATIENCES = 3;
/** After a sleep, or a change of the network, a link has to show so soon that it lives. */
const PROBE_SECONDS = 3;
/** A better way is taken when nothing but beats was said for so long. */
const IDLE_SECONDS = 1;

export class NeighbourLinks {
  readonly #context: LinkContext;
  readonly #attempts: LinkAttempts;
  #using: Channel | null = null;
  #pulse: Keepalive;
  #meter = new ThroughputMeter();
  #silenceTold = false;
  #proveBy: number | null = null;
  /** When something was said last that is no beat. */
  #saidAt = Number.NEGATIVE_INFINITY;
  /** Whether this end makes links; one that the other makes stands in any case. */
  isTarget = true;
  /** Bytes that came, and that went, over all links to it. */
  heardBytes = 0;
  sentBytes = 0;

  constructor(
    readonly client: string,
    key: Uint8Array,
    possible: Iterable<Way>,
    context: LinkContext,
  ) {
    this.#context = context;
    this.#pulse = new Keepalive(context.now());
    this.#attempts = new LinkAttempts({ client, key, possible: new Set(possible) }, context, {
      inUse: () => this.#using,
      changed: () => this.#pick(),
      received: (channel, frame) => this.#receive(channel, frame),
      drained: () => {
        this.#meter.look(this.buffered, context.now());
        context.drained(client);
      },
      greeting: () => encodeMesh(this.#pulse.beat(context.now())),
    });
  }

  get way(): Way | null {
    return this.#using?.way ?? null;
  }

  get buffered(): number {
    return this.#using?.buffered ?? 0;
  }

  get room(): number {
    return this.#using?.room ?? 0;
  }

  /** Somebody wants to hear when fewer than `below` bytes wait. */
  notice(below: number): void {
    this.#using?.notice(below);
  }

  /** Seconds there and back, and bytes a second; 0 where not known. */
  get measures(): { readonly seconds: number; readonly rate: number } {
    return { seconds: this.#pulse.seconds, rate: this.#meter.rate };
  }

  /** Whether there was a link to send by. */
  send(frame: PeerFrame, bulk: boolean): boolean {
    const channel = this.#using;
    if (channel === null) return false;
    const bytes = encodeMesh(frame);
    channel.send(bytes, bulk);
    this.sentBytes += bytes.length;
    if (frame.type !== "beat") this.#saidAt = this.#context.now();
    this.#meter.gave(bytes.length, channel.buffered, this.#context.now());
    return true;
  }

  /** A signal that is said to be this peer's. */
  signalled(data: Uint8Array): void {
    this.#attempts.signalled(data);
  }

  relayed(parcel: Uint8Array): void {
    this.#attempts.relayed(parcel);
  }

  /** The server does not know where the other is. */
  unreachable(): void {
    this.#attempts.unreachable();
    this.#pick();
  }

  /** The other can be reached again. */
  nudge(): void {
    if (this.#using === null) this.#attempts.nudge();
  }

  /** The link has to show that it still stands. */
  probe(): void {
    const now = this.#context.now();
    this.#pulse.received(now);
    this.#pulse.hurry();
    this.#proveBy = now + PROBE_SECONDS;
    this.nudge();
  }

  /** A silence that was told of to one group is told of to the next as well. */
  groupBegan(): void {
    this.#silenceTold = false;
  }

  tick(): void {
    const now = this.#context.now();
    this.#attempts.expire(now);
    if (this.isTarget) this.#attempts.go(now);
    this.#pick();
    const patience = this.#context.patience();
    if (this.#using === null) return;
    this.#meter.look(this.#using.buffered, now);
    const beat = this.#pulse.due(patience, now);
    if (beat !== null) this.send(beat, false);
    const silence = this.#pulse.silence(now);
    if (patience !== null && silence > patience && !this.#silenceTold) {
      this.#silenceTold = true;
      this.#context.silent(this.client);
    }
    const proofIsDue = this.#proveBy !== null && now > this.#proveBy;
    if (proofIsDue || silence > Math.max(DEAD_SECONDS, DEAD_PATIENCES * (patience ?? 0))) this.#dead();
  }

  /** Ends all links to this peer for now; it is told where it can be. */
  rest(): void {
    this.#attempts.rest();
    this.#pick();
  }

  /** Ends all links to this peer. */
  close(): void {
    this.#attempts.close();
    this.#pick();
  }

  /** Nothing is under way that must not be overtaken on another link. */
  get #idle(): boolean {
    return this.#context.patience() === null && this.#context.now() > this.#saidAt + IDLE_SECONDS;
  }

  #dead(): void {
    this.#proveBy = null;
    this.rest();
    this.#attempts.again();
  }

  /** Takes the best link that is open; within a group the one in use is kept while it stands. */
  #pick(): void {
    const { best } = this.#attempts;
    const before = this.#using;
    if (best === before || (before?.open && best !== null && !this.#idle)) return;
    this.#using = best;
    if (best === null) {
      this.#context.down(this.client);
      return;
    }
    if (before === null) this.#pulse = new Keepalive(this.#context.now());
    this.#meter = new ThroughputMeter();
    this.#silenceTold = false;
    this.#context.up(this.client, best.way);
  }

  #receive(channel: Channel, bytes: Uint8Array): void {
    const now = this.#context.now();
    this.heardBytes += bytes.length;
    this.#pulse.received(now);
    this.#proveBy = null;
    if (this.#silenceTold && this.#using !== null) this.#context.up(this.client, this.#using.way);
    this.#silenceTold = false;
    let frame: PeerFrame;
    try {
      frame = decodePeer(bytes);
    } catch {
      this.#attempts.shun(channel);
      this.#pick();
      return;
    }
    if (frame.type === "beat") this.#pulse.beaten(frame, now);
    else this.#context.received(this.client, frame);
  }
}
