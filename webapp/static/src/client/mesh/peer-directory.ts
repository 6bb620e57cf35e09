/**
 * The other peers of one mesh and this peer's links to them, from the first `entered` to the end of a session. Owns
 * the links and their traffic.
 */

import type { Bytes } from "../../core/crypto/bytes";
import type { Identity } from "../../core/crypto/keys";
import type { Entered, GroupAveraged, GroupFailed, MemberEvent } from "../../protocol/mesh/member-events";
import {
  type ByzantineRules,
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
import { RoundContents } from "./byzantine/contents";
import type { ByzantineMember } from "./byzantine/member";
import type { ModelSize } from "./byzantine/state-transfer";
import { linkTargets } from "./link-targets";
import { ResultSigner } from "./result-signer";
import { ServerlessRunner } from "./serverless-runner";
import type { WeightCache } from "./weight-store";
import { WeightTransfer } from "./weight-transfer";
import type { WeightHolders } from "./weights";

/** Milliseconds between reports of the links to the server; the second is the delay after a change. */
const LINKS_EVERY = 10_000;
const LINKS_SOON = 500;

export interface PeerDirectoryOptions {
  readonly entered: Entered;
  readonly identity: Identity;
  readonly identities: TrustStore;
  readonly holdings: WeightCache;
  readonly transport: Transport;
  /** Whether the server receives what is sent to it. */
  readonly connected: () => boolean;
  /** Returns the current group. */
  readonly group: () => GroupOrder | null;
  readonly ended: (report: GroupAveraged | GroupFailed) => void;
  readonly certified: (certificate: Certificate) => void;
  /** Whether this peer never joins the group of this round and number. */
  readonly declines: (round: number, group: number) => boolean;
  /** The server's address. */
  readonly origin: string;
  /** The task's full address. */
  readonly address: string;
  /** Returns weights from this peer, from others, or from the server. Throws an Error for people. */
  readonly fetchWeights: (hash: string) => Promise<Bytes>;
  readonly model: () => ModelSize;
  /** Takes events for the member's machine. */
  readonly tell: (event: MemberEvent) => void;
  /** Another peer has the server: try to reach it. */
  readonly hasten: () => void;
  /** Data that the page shows have changed. */
  readonly changed: () => void;
}

export class PeerDirectory {
  readonly client: string;
  readonly links: LinkManager;
  readonly results: ResultSigner;
  readonly averager: Averager;
  readonly serverless: ServerlessRunner;
  /** The membership in a mesh whose members check each other, which makes up its groups; null in another one. */
  byzantine: ByzantineMember | null = null;
  /** By what the members check each other; null where they do not. */
  rules: ByzantineRules | null = null;
  #closed = false;
  readonly #options: PeerDirectoryOptions;
  readonly #contents = new RoundContents();
  readonly #transfer: WeightTransfer;
  readonly #unwatchSleep: () => void;
  #members: readonly NeighbourInfo[] = [];
  #reportTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: PeerDirectoryOptions) {
    const { entered, identity, holdings, ended, certified, declines, tell, hasten, changed } = options;
    this.#options = options;
    this.client = entered.client;
    this.links = this.#makeLinks();
    this.#transfer = new WeightTransfer(this.links, {
      find: (hash) => holdings.find(hash) ?? this.#contents.find(hash) ?? this.byzantine?.find(hash) ?? null,
    });
    const [task, own, links] = [entered.task, entered.client, this.links];
    const identityOf = (other: string) => this.#members.find((one) => one.client === other)?.identity ?? null;
    this.results = new ResultSigner({ task, own, identity, links, identityOf, ended, certified, changed });
    this.averager = new Averager({ task, own, links, holdings, results: this.results, declines });
    this.serverless = new ServerlessRunner({ own: entered.client, links: this.links, tell, hasten });
    this.#unwatchSleep = watchSleep(this.links);
    this.#scheduleReport(LINKS_EVERY);
  }

  /** All peers of the mesh, this one included. */
  get members(): readonly NeighbourInfo[] {
    return this.#members;
  }

  /** What averages with groups. */
  get averages(): Averager | ByzantineMember {
    return this.byzantine ?? this.averager;
  }

  /** Begins to be a member of a mesh whose members check each other by these rules. */
  checkBy(rules: ByzantineRules): void {
    this.rules = rules;
    // Who needs the member asks again, and sees the problem.
    this.member(rules).catch(() => undefined);
  }

  /** Returns the member by these rules. Its program is fetched here: other meshes do without. */
  async member(rules: ByzantineRules): Promise<ByzantineMember> {
    const { ByzantineMember } = await import("./byzantine/member");
    if (this.byzantine?.isBy(rules)) return this.byzantine;
    this.byzantine?.close();
    this.byzantine = new ByzantineMember({
      ...this.#options,
      rules,
      task: this.#options.entered.task,
      own: this.client,
      links: this.links,
      weights: this.#options.holdings,
      contents: this.#contents,
      fetching: this.#transfer,
      results: this.results,
      tellServer: (frame) => this.#sendToServer(frame),
    });
    for (const other of this.links.linked) this.byzantine.up(other);
    if (this.#closed) this.byzantine.close();
    return this.byzantine;
  }

  /** Takes the server's frames about other peers, and those it carries from them. */
  receive(frame: ServerToPeer): void {
    switch (frame.type) {
      case "members":
        this.#members = frame.members;
        this.links.setMembers(frame.members);
        this.updateTargets();
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

  /** Selects link targets: some of all peers, and the members of the last group. */
  updateTargets(): void {
    const group = this.#options.group() ?? this.results.view?.order;
    const clients = this.#members.map(({ client }) => client);
    this.links.setTargets([...linkTargets(this.client, clients), ...(group?.members ?? [])]);
  }

  /** Returns the linked peers that have these weights of `size` bytes. */
  holders(hash: string, size: number): WeightHolders {
    const linked = this.#members.filter(({ client, holds }) => holds === hash && this.links.way(client));
    return { fetching: this.#transfer, size, clients: linked.map(({ client }) => client) };
  }

  /** Ends all links. */
  close(): void {
    this.#unwatchSleep();
    this.serverless.close();
    this.averager.close();
    this.#closed = true;
    this.byzantine?.close();
    this.links.close();
    // Links that end restart this timer: it is stopped after them.
    clearTimeout(this.#reportTimer);
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
        this.#sendToServer({ type: "signal", client: to, data });
        return connected();
      },
      relay: (to, data) => this.#sendToServer({ type: "relay", client: to, data }),
      relayBuffered: () => transport.buffered,
      up: (other) => {
        this.averager.up(other);
        this.byzantine?.up(other);
        this.serverless.handle({ type: "linked", client: other });
        this.#scheduleReport(LINKS_SOON);
      },
      down: (other) => {
        this.averages.down(other);
        this.#transfer.lost(other);
        this.serverless.handle({ type: "lost", client: other });
        this.#scheduleReport(LINKS_SOON);
      },
      silent: (other) => {
        this.averager.silent(other);
        this.serverless.handle({ type: "lost", client: other });
      },
      received: (other, frame) => this.#receivePeerMessage(other, frame),
    });
  }

  #sendToServer(frame: PeerToServer): void {
    if (this.#options.connected()) this.#options.transport.send(encodeMesh(frame));
  }

  #receivePeerMessage(client: string, frame: PeerMessage): void {
    switch (frame.type) {
      case "fetch":
        void this.#transfer.serve(client, frame);
        return;
      case "weights":
        this.#transfer.takeChunk(client, frame);
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
      case "say":
      case "show":
      case "ask_state":
      case "tell_state":
      case "tell_evidence":
        this.byzantine?.receive(client, frame);
        return;
      default:
        this.averages.receive(client, frame);
    }
  }

  /** Reports the links within this number of milliseconds, and periodically after that. */
  #scheduleReport(within: number): void {
    clearTimeout(this.#reportTimer);
    this.#reportTimer = setTimeout(() => {
      this.#sendToServer({ type: "links", links: this.links.measures });
      this.#scheduleReport(LINKS_EVERY);
    }, within);
    this.#options.changed();
  }
}
