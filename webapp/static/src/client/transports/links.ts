/**
 * This browser's links to the other peers of a mesh. Owns one `NeighbourLinks` for each and the clock that drives
 * them. A peer gets a link if it is a target and has its known identity.
 */

import { toHex } from "../../core/crypto/bytes";
import type { Identity } from "../../core/crypto/keys";
import type { NeighbourInfo, PeerFrame, PushSumMeasure, Way } from "../../protocol/wire/mesh";
import type { TrustStore } from "../session/trust-store";
import { Backpressure } from "./backpressure";
import type { BrowserWay } from "./channel";
import type { LinkContext } from "./link-context";
import { NeighbourLinks } from "./neighbour";

/** The most bytes that wait at a link: a bulk sender waits until it is `drained`. */
export const MOST_BUFFERED = 1 << 21;
const TICK_MILLISECONDS = 250;
/** Seconds without a tick after which the page was asleep. */
const SLEPT_SECONDS = 5;
/** The number of peers that carry a signal which the server cannot deliver. */
const MOST_CARRIERS = 4;
const WAYS: readonly BrowserWay[] = ["webrtc", "relay"];

/** Frames between peers, except those that the links themselves need. */
export type PeerMessage = Exclude<PeerFrame, { readonly type: "beat" | "pass" | "passed" }>;

export interface LinkManagerOptions {
  readonly task: string;
  /** This peer's public id. */
  readonly client: string;
  readonly identity: Identity;
  readonly identities: TrustStore;
  readonly ice: readonly RTCIceServer[];
  /** Gives the server a signal to forward; returns false without a connection to it. */
  signal(client: string, data: Uint8Array): boolean;
  relay(client: string, data: Uint8Array): void;
  /** Returns the bytes that wait to be sent to the server. */
  relayBuffered(): number;
  /** There is a link to this peer now, or a better one, or data arrive again after `silent`. */
  up(client: string, way: Way): void;
  down(client: string): void;
  received(client: string, frame: PeerMessage): void;
  /**
   * Within a group, no data came from this peer for `patience` seconds. Reported once for each silence, which `up`
   * ends.
   */
  silent(client: string): void;
}

/** The state of the links to one peer. */
export interface LinkView {
  readonly client: string;
  readonly way: Way | null;
  readonly seconds: number;
  readonly rate: number;
  readonly sentBytes: number;
  readonly heardBytes: number;
}

/** Returns the ways that this browser supports, for `enter`. */
export function ownWays(): readonly Way[] {
  return typeof RTCPeerConnection === "undefined" ? ["relay"] : WAYS;
}

export class LinkManager {
  readonly #options: LinkManagerOptions;
  readonly #context: LinkContext;
  readonly #neighbours = new Map<string, NeighbourLinks>();
  /** Peers whose identity differs from the known one. */
  readonly #strangers = new Set<string>();
  /** Keys (hexadecimal) whose owners get no link. */
  readonly #banned = new Set<string>();
  readonly #backpressure = new Backpressure(
    (client) => this.buffered(client),
    (client, below) => this.#neighbours.get(client)?.notice(below),
  );
  readonly #timer: ReturnType<typeof setInterval>;
  #patience: number | null = null;
  /** The peers to which links are made; null: all. */
  #targets: ReadonlySet<string> | null = null;
  #identityChecks: Promise<void> = Promise.resolve();
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
        this.#backpressure.tell(client);
        options.down(client);
      },
      received: (client, frame) => this.#received(client, frame),
      silent: (client) => options.silent(client),
      drained: (client) => this.#backpressure.tell(client),
    };
    this.#timer = setInterval(() => this.#tick(), TICK_MILLISECONDS);
  }

  /**
   * Sets the members of the mesh. Those that left are dropped only once their link is gone: a restarted server may
   * not list them.
   */
  setMembers(members: readonly NeighbourInfo[]): void {
    this.#identityChecks = this.#identityChecks.then(() => this.#checkIdentities(members));
  }

  /** Sets the members to which links are made, and repaired. Links to others are kept. */
  setTargets(clients: Iterable<string>): void {
    this.#targets = new Set(clients);
    for (const one of this.#neighbours.values()) one.isTarget = this.#targets.has(one.client);
  }

  /** Peers that are refused, because they presented another identity than before. */
  get strangers(): readonly string[] {
    return [...this.#strangers];
  }

  /** Ends the links to peers with these keys (hexadecimal), and makes and takes none again. */
  ban(identities: Iterable<string>): void {
    for (const identity of identities) this.#banned.add(identity);
    for (const one of [...this.#neighbours.values()])
      if (this.#banned.has(toHex(one.identity))) this.#drop(one);
  }

  /** Sets the seconds of silence in a group after which `silent` is reported; null outside of groups. */
  patience(seconds: number | null): void {
    this.#patience = seconds;
    if (seconds === null) return;
    for (const one of this.#neighbours.values()) one.groupBegan();
  }

  /** Takes a signal that the server, or a peer, carried from `client`. */
  signalled(client: string, data: Uint8Array): void {
    // The signal of a new peer may arrive before its identity is checked.
    this.#identityChecks = this.#identityChecks.then(() => this.#neighbours.get(client)?.signalled(data));
  }

  relayed(client: string, data: Uint8Array): void {
    this.#identityChecks = this.#identityChecks.then(() => this.#neighbours.get(client)?.relayed(data));
  }

  unreachable(client: string): void {
    this.#neighbours.get(client)?.unreachable();
  }

  /**
   * Sends a frame; returns false without a link. Frames to one peer keep their order among those with the same
   * `bulk`.
   */
  send(client: string, frame: PeerFrame, bulk = false): boolean {
    return this.#neighbours.get(client)?.send(frame, bulk) ?? false;
  }

  /** Returns the bytes that wait to be sent to this peer. */
  buffered(client: string): number {
    return this.#neighbours.get(client)?.buffered ?? 0;
  }

  /** Returns the bytes of data that a chunk for this peer may have; 0 without a link. */
  room(client: string): number {
    return this.#neighbours.get(client)?.room ?? 0;
  }

  way(client: string): Way | null {
    return this.#neighbours.get(client)?.way ?? null;
  }

  /** The peers to which there is a link. */
  get linked(): readonly string[] {
    return [...this.#neighbours.values()].filter(({ way }) => way !== null).map(({ client }) => client);
  }

  /** Returns the key of a peer, which links to it prove; null for one that is unknown or refused. */
  identityOf(client: string): Uint8Array | null {
    return this.#neighbours.get(client)?.identity ?? null;
  }

  /** Resolves when fewer than `below` bytes wait for this peer, or when there is no link. */
  drained(client: string, below: number): Promise<void> {
    return this.#backpressure.wait(client, below);
  }

  /** The measurements of links that this peer reports to the server. */
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

  /** Probes all links after a sleep or a change of the network; dead ones are made again. */
  wake(): void {
    for (const one of this.#neighbours.values()) one.probe();
  }

  /** Ends all links because the page will not be able to answer; the other peers are notified, and need not wait. */
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

  async #checkIdentities(members: readonly NeighbourInfo[]): Promise<void> {
    const { client: own, identities } = this.#options;
    const others = members.filter(({ client }) => client !== own);
    const { changed } = await identities.compare(others, own);
    if (this.#closed) return;
    const trusted = others.filter((_, place) => !changed.includes(place));
    this.#strangers.clear();
    for (const place of changed) this.#strangers.add((others[place] as NeighbourInfo).client);
    for (const member of trusted) this.#addNeighbour(member);
    const memberIds = new Set(trusted.map(({ client }) => client));
    for (const [client, one] of this.#neighbours) {
      if (memberIds.has(client)) continue;
      if (one.way === null) this.#drop(one);
    }
    await identities.remember(trusted);
  }

  #addNeighbour({ client, identity, ways }: NeighbourInfo): void {
    if (this.#banned.has(toHex(identity))) return;
    const existing = this.#neighbours.get(client);
    if (existing) {
      existing.nudge();
      return;
    }
    const possible = ownWays().filter((way) => ways.includes(way));
    const neighbour = new NeighbourLinks(client, identity, possible, this.#context);
    neighbour.isTarget = this.#targets?.has(client) ?? true;
    this.#neighbours.set(client, neighbour);
  }

  #drop(one: NeighbourLinks): void {
    one.close();
    this.#neighbours.delete(one.client);
    this.#backpressure.tell(one.client);
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
