/**
 * The other peers of one mesh as this one is connected to them: from the first `entered` to the end of a visit. Owns the links,
 * and what goes over them.
 */

import type { Identity } from "../../core/crypto/keys";
import type { Entered, GroupAveraged, GroupFailed, MemberEvent } from "../../protocol/mesh/member-events";
import {
  type Certificate,
  encodeMesh,
  type GroupOrder,
  type NeighbourInfo,
  type PeerToServer,
  type ServerToPeer,
} from "../../protocol/wire/mesh";
import type { TrustStore } from "../session/trust-store";
import { LinkManager, type PeerMessage } from "../transports/links";
import { watchSleep } from "../transports/page-lifecycle";
import type { Transport } from "../transports/socket";
import { Averager } from "./averager";
import { linkTargets } from "./link-targets";
import { ServerlessRunner } from "./serverless-runner";
import type { WeightCache } from "./weight-store";
import { WeightTransfer } from "./weight-transfer";
import type { WeightHolders } from "./weights";

/** The server hears of the links this often, and soon after a change, in milliseconds. */
const LINKS_EVERY = 10_000;
const LINKS_SOON = 500;

export interface PeerDirectoryOptions {
  readonly entered: Entered;
  readonly identity: Identity;
  readonly identities: TrustStore;
  readonly holdings: WeightCache;
  readonly transport: Transport;
  /** Whether the server hears what is sent to it. */
  readonly connected: () => boolean;
  /** The group in hand. */
  readonly group: () => GroupOrder | null;
  readonly ended: (report: GroupAveraged | GroupFailed) => void;
  readonly certified: (certificate: Certificate) => void;
  /** Takes events for the member's machine. */
  readonly tell: (event: MemberEvent) => void;
  /** Another peer has the server. */
  readonly hasten: () => void;
  /** Something that the page shows has changed. */
  readonly changed: () => void;
}

export class PeerDirectory {
  readonly client: string;
  readonly links: LinkManager;
  readonly averager: Averager;
  readonly serverless: ServerlessRunner;
  readonly #options: PeerDirectoryOptions;
  readonly #fetching: WeightTransfer;
  readonly #deaf: () => void;
  #members: readonly NeighbourInfo[] = [];
  #telling: ReturnType<typeof setTimeout> | undefined;

  constructor(options: PeerDirectoryOptions) {
    const { entered, identity, holdings, ended, certified, tell, hasten, changed } = options;
    this.#options = options;
    this.client = entered.client;
    this.links = this.#makeLinks();
    this.#fetching = new WeightTransfer(this.links, holdings);
    this.averager = new Averager({
      task: entered.task,
      own: entered.client,
      identity,
      links: this.links,
      holdings,
      identityOf: (other) => this.#members.find((one) => one.client === other)?.identity ?? null,
      ended,
      certified,
      changed,
    });
    this.serverless = new ServerlessRunner({ own: entered.client, links: this.links, tell, hasten });
    this.#deaf = watchSleep(this.links);
    this.#tell(LINKS_EVERY);
  }

  /** Everybody in the mesh, this peer included. */
  get members(): readonly NeighbourInfo[] {
    return this.#members;
  }

  /** What the server says of other peers, or brings from them. */
  receive(frame: ServerToPeer): void {
    switch (frame.type) {
      case "members":
        this.#members = frame.members;
        this.links.members(frame.members);
        this.want();
        return;
      case "signalled":
        this.links.signalled(frame.client, frame.data);
        return;
      case "relayed":
        this.links.relayed(frame.client, frame.data);
        return;
      case "unreachable":
        this.links.unreachable(frame.client);
    }
  }

  /** Links go to some of all, and to the members of the last group. */
  want(): void {
    const group = this.#options.group() ?? this.averager.view?.order;
    const clients = this.#members.map(({ client }) => client);
    this.links.want([...linkTargets(this.client, clients), ...(group?.members ?? [])]);
  }

  /** Those with a link that have these weights of `size` bytes. */
  holders(hash: string, size: number): WeightHolders {
    const linked = this.#members.filter(({ client, holds }) => holds === hash && this.links.way(client));
    return { fetching: this.#fetching, size, clients: linked.map(({ client }) => client) };
  }

  /** Ends all links. */
  close(): void {
    this.#deaf();
    this.serverless.close();
    this.averager.close();
    this.links.close();
    // A link that ends is told of soon: not here any more.
    clearTimeout(this.#telling);
  }

  #makeLinks(): LinkManager {
    const { entered, identity, identities, transport, connected } = this.#options;
    const { task, client, ice } = entered;
    return new LinkManager({
      task,
      client,
      identity,
      identities,
      ice: ice.map(({ urls, ...secret }) => ({ urls: [...urls], ...secret })),
      signal: (to, data) => {
        this.#say({ type: "signal", client: to, data });
        return connected();
      },
      relay: (to, data) => this.#say({ type: "relay", client: to, data }),
      relayBuffered: () => transport.buffered,
      up: (other) => {
        this.averager.up(other);
        this.serverless.happened({ type: "linked", client: other });
        this.#tell(LINKS_SOON);
      },
      down: (other) => {
        this.averager.down(other);
        this.#fetching.lost(other);
        this.serverless.happened({ type: "lost", client: other });
        this.#tell(LINKS_SOON);
      },
      silent: (other) => {
        this.averager.silent(other);
        this.serverless.happened({ type: "lost", client: other });
      },
      received: (other, frame) => this.#receivePeerMessage(other, frame),
    });
  }

  #say(frame: PeerToServer): void {
    if (this.#options.connected()) this.#options.transport.send(encodeMesh(frame));
  }

  #receivePeerMessage(client: string, frame: PeerMessage): void {
    switch (frame.type) {
      case "fetch":
        void this.#fetching.asked(client, frame);
        return;
      case "weights":
        this.#fetching.came(client, frame);
        return;
      case "unattended":
      case "set_out":
      case "attended":
      case "trained":
      case "group":
      case "evaluation":
        this.serverless.receive(client, frame);
        this.#options.changed();
        return;
      default:
        this.averager.receive(client, frame);
    }
  }

  /** Says how the links are, within so many milliseconds and then again and again. */
  #tell(within: number): void {
    clearTimeout(this.#telling);
    this.#telling = setTimeout(() => {
      this.#say({ type: "links", links: this.links.measures });
      this.#tell(LINKS_EVERY);
    }, within);
    this.#options.changed();
  }
}
