/**
 * This browser's links to the other peers of a mesh. Owns one `Neighbour` for each and the clock that they go by; peers get a
 * link when they are wanted and are who they were before.
 */

import type { Identity } from "../../core/crypto/keys";
import type { NeighbourInfo, PeerFrame, PushSumMeasure, Way } from "../../protocol/wire/mesh";
import type { TrustStore } from "../session/trust-store";
import { Backpressure } from "./backpressure";
import type { BrowserWay } from "./channel";
import type { LinkContext } from "./link-context";
import { NeighbourLinks } from "./neighbour";

/** No more than this waits at a link: who sends a lot waits until it is `drained`. */
export const MOST_BUFFERED = 1 << 21;
const TICK_MILLISECONDS = 250;
/** Who missed so many seconds of the clock was asleep. */
const SLEPT_SECONDS = 5;
/** A signal for who cannot be reached otherwise is handed to so many peers. */
const MOST_CARRIERS = 4;
const WAYS: readonly BrowserWay[] = ["webrtc", "relay"];

/** What peers say to each other beside what links need themselves. */
export type PeerMessage = Exclude<PeerFrame, { readonly type: "beat" | "pass" | "passed" }>;

export interface LinkManagerOptions {
  readonly task: string;
  /** This peer's public id. */
  readonly client: string;
  readonly identity: Identity;
  readonly identities: TrustStore;
  readonly ice: readonly RTCIceServer[];
  /** What the task's server takes along; false while there is no connection to it. */
  signal(client: string, data: Uint8Array): boolean;
  relay(client: string, data: Uint8Array): void;
  /** Bytes on their way to the server. */
  relayBuffered(): number;
  /** There is a link to this peer now, or a better one, or it is heard again after `silent`. */
  up(client: string, way: Way): void;
  down(client: string): void;
  received(client: string, frame: PeerMessage): void;
  /** Within a group: nothing came of this peer for the patience. Said once for each silence, which `up` ends. */
  silent(client: string): void;
}

/** One peer as this one is linked to it. */
export interface LinkView {
  readonly client: string;
  readonly way: Way | null;
  readonly seconds: number;
  readonly rate: number;
  readonly sentBytes: number;
  readonly heardBytes: number;
}

/** The ways that this browser can go, for `enter`. */
export function ownWays(): readonly Way[] {
  return typeof RTCPeerConnection === "undefined" ? ["relay"] : WAYS;
}

export class LinkManager {
  readonly #options: LinkManagerOptions;
  readonly #context: LinkContext;
  readonly #neighbours = new Map<string, NeighbourLinks>();
  /** Peers that have another identity than the one by which they were met. */
  readonly #strangers = new Set<string>();
  readonly #draining = new Backpressure(
    (client) => this.buffered(client),
    (client, below) => this.#neighbours.get(client)?.notice(below),
  );
  readonly #timer: ReturnType<typeof setInterval>;
  #patience: number | null = null;
  /** To whom links are made; null: to everybody. */
  #targets: ReadonlySet<string> | null = null;
  #vetting: Promise<void> = Promise.resolve();
  #tickAt = now();
  #closed = false;

  constructor(options: LinkManagerOptions) {
    this.#options = options;
    const { task, client: own, identity } = options;
    this.#context = {
      task,
      own,
      identity,
      configuration: { iceServers: [...options.ice] },
      carry: (client, signal) => this.#carry(client, signal),
      relay: (client, parcel) => options.relay(client, parcel),
      relayBuffered: () => options.relayBuffered(),
      patience: () => this.#patience,
      now,
      up: (client, way) => options.up(client, way),
      down: (client) => {
        this.#draining.tell(client);
        options.down(client);
      },
      received: (client, frame) => this.#received(client, frame),
      silent: (client) => options.silent(client),
      drained: (client) => this.#draining.tell(client),
    };
    this.#timer = setInterval(() => this.#tick(), TICK_MILLISECONDS);
  }

  /** Who is in the mesh. Those who left are let go when their link is gone, too: the server may only have forgotten them. */
  members(members: readonly NeighbourInfo[]): void {
    this.#vetting = this.#vetting.then(() => this.#vet(members));
  }

  /** To whom links are made, and made again when they break, of all members. Others are not cut. */
  want(clients: Iterable<string>): void {
    this.#targets = new Set(clients);
    for (const one of this.#neighbours.values()) one.isTarget = this.#targets.has(one.client);
  }

  /** Peers that are not let in, because they came with another identity than before. */
  get strangers(): readonly string[] {
    return [...this.#strangers];
  }

  /** Seconds of silence in a group after which `silent` is said; null outside of groups. */
  patience(seconds: number | null): void {
    this.#patience = seconds;
    if (seconds === null) return;
    for (const one of this.#neighbours.values()) one.groupBegan();
  }

  /** A signal that the server, or a peer, brought from `client`. */
  signalled(client: string, data: Uint8Array): void {
    // Who is new may be heard of before it is looked at.
    this.#vetting = this.#vetting.then(() => this.#neighbours.get(client)?.signalled(data));
  }

  relayed(client: string, data: Uint8Array): void {
    this.#vetting = this.#vetting.then(() => this.#neighbours.get(client)?.relayed(data));
  }

  unreachable(client: string): void {
    this.#neighbours.get(client)?.unreachable();
  }

  /** Whether there was a link to send by. Frames to one peer keep their order among those with the same `bulk`. */
  send(client: string, frame: PeerFrame, bulk = false): boolean {
    return this.#neighbours.get(client)?.send(frame, bulk) ?? false;
  }

  /** Bytes that wait to be sent to this peer. */
  buffered(client: string): number {
    return this.#neighbours.get(client)?.buffered ?? 0;
  }

  /** Bytes of data that a chunk for this peer may have; 0 without a link. */
  room(client: string): number {
    return this.#neighbours.get(client)?.room ?? 0;
  }

  way(client: string): Way | null {
    return this.#neighbours.get(client)?.way ?? null;
  }

  /** Resolves when fewer than `below` bytes wait for this peer, or when there is no link. */
  drained(client: string, below: number): Promise<void> {
    return this.#draining.wait(client, below);
  }

  /** What this peer tells the server of its links. */
  get measures(): readonly PushSumMeasure[] {
    return this.view.flatMap(({ client, way, seconds, rate }) =>
      way === null ? [] : [{ client, way, seconds, rate }],
    );
  }

  get view(): readonly LinkView[] {
    return [...this.#neighbours.values()].map((one) => {
      const { client, way, measures, sentBytes, heardBytes } = one;
      return { client, way, ...measures, sentBytes, heardBytes };
    });
  }

  /** After a sleep, or when the network changed: links show that they stand, or are made anew. */
  wake(): void {
    for (const one of this.#neighbours.values()) one.probe();
  }

  /** The page will not be able to answer: the others are told, and need not wait. */
  sleep(): void {
    for (const one of this.#neighbours.values()) one.rest();
  }

  /** Ends all links. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const one of this.#neighbours.values()) one.close();
    this.#neighbours.clear();
  }

  async #vet(members: readonly NeighbourInfo[]): Promise<void> {
    const { client: own, identities } = this.#options;
    const others = members.filter(({ client }) => client !== own);
    const { changed } = await identities.compare(others, own);
    if (this.#closed) return;
    const trusted = others.filter((_, place) => !changed.includes(place));
    this.#strangers.clear();
    for (const place of changed) this.#strangers.add((others[place] as NeighbourInfo).client);
    for (const member of trusted) this.#want(member);
    const here = new Set(trusted.map(({ client }) => client));
    for (const [client, one] of this.#neighbours) {
      if (here.has(client)) continue;
      if (one.way === null) this.#drop(one);
    }
    await identities.meet(trusted);
  }

  #want({ client, identity, ways }: NeighbourInfo): void {
    const before = this.#neighbours.get(client);
    if (before) {
      before.nudge();
      return;
    }
    const possible = ownWays().filter((way) => ways.includes(way));
    const made = new NeighbourLinks(client, identity, possible, this.#context);
    made.isTarget = this.#targets?.has(client) ?? true;
    this.#neighbours.set(client, made);
  }

  #drop(one: NeighbourLinks): void {
    one.close();
    this.#neighbours.delete(one.client);
    this.#draining.tell(one.client);
  }

  #tick(): void {
    const slept = now() - this.#tickAt > SLEPT_SECONDS;
    this.#tickAt = now();
    if (slept) this.wake();
    for (const one of this.#neighbours.values()) one.tick();
  }

  #carry(client: string, data: Uint8Array): void {
    if (this.#options.signal(client, data)) return;
    const carriers = [...this.#neighbours.values()].filter(
      (one) => one.client !== client && one.way !== null,
    );
    for (const one of carriers.slice(0, MOST_CARRIERS)) one.send({ type: "pass", client, data }, false);
  }

  #received(client: string, frame: PeerFrame): void {
    switch (frame.type) {
      case "beat":
        return;
      case "pass": {
        const passed = { type: "passed", client, data: frame.data } as const;
        const to = this.#neighbours.get(frame.client);
        if (to && frame.data.length <= to.room) to.send(passed, false);
        return;
      }
      case "passed":
        this.signalled(frame.client, frame.data);
        return;
      default:
        this.#options.received(client, frame);
    }
  }
}

function now(): number {
  return performance.now() / 1000;
}
