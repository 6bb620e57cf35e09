/** A page in a mesh as far as rounds without the server need one: links over TCP, the member's machine, and real exchanges. */

import { createHash } from "node:crypto";
import { Exchange } from "../../../../../webapp/static/src/client/mesh/exchange";
import { ServerlessRunner } from "../../../../../webapp/static/src/client/mesh/serverless-runner";
import type { AveragingWorker } from "../../../../../webapp/static/src/client/workers/averaging-worker";
import type { Evaluate } from "../../../../../webapp/static/src/protocol/client/evaluation";
import { handle, INITIAL, type MemberState } from "../../../../../webapp/static/src/protocol/mesh/member";
import type {
  Enter,
  MemberEffect,
  MemberEvent,
} from "../../../../../webapp/static/src/protocol/mesh/member-events";
import type { Train } from "../../../../../webapp/static/src/protocol/rounds/participant-events";
import type { Certificate, GroupOrder, PeerFrame } from "../../../../../webapp/static/src/protocol/wire/mesh";
import { OF, vectorOf } from "./member";
import type { Told } from "./python-members";
import { TcpLinks } from "./tcp-links";
import { averagingWorker } from "./workers";

const ENTER: Enter = {
  type: "enter",
  token: "t".repeat(32),
  kind: "browser",
  backend: "auto",
  agent: "minga-page/0.1",
  identity: new Uint8Array(32),
  ways: ["webrtc"],
  address: null,
  round: 0,
  holds: null,
  certificate: null,
  chain: [],
};

/** What the server said in the last round that it led; an exam where this page measures. */
export interface Past {
  readonly plan: Train;
  readonly order: GroupOrder;
  readonly certificate: Certificate;
  readonly exam?: Evaluate;
}

export class ServerlessPage {
  state: MemberState = INITIAL;
  /** How often it was told that the server is there. */
  hastened = 0;
  /** The weights that it ended with. */
  ended: Told | null = null;
  readonly links: TcpLinks;
  readonly runner: ServerlessRunner;
  readonly #up = new Set<string>();
  #exchange: Exchange | null = null;
  #worker: AveragingWorker | null = null;
  #early: (() => void)[] = [];

  constructor(
    readonly client: string,
    private readonly place: number,
    private readonly examples: number,
  ) {
    this.links = new TcpLinks(client, {
      up: (other) => {
        this.#up.add(other);
        this.#exchange?.up(other);
        this.runner.handle({ type: "linked", client: other });
      },
      down: (other) => {
        this.#up.delete(other);
        this.#exchange?.down(other);
        this.runner.handle({ type: "lost", client: other });
      },
      received: (other, frame) => this.#received(other, frame),
    });
    this.runner = new ServerlessRunner({
      own: client,
      links: this.links,
      tell: (event) => this.dispatch(event),
      hasten: () => {
        this.hastened += 1;
      },
    });
  }

  get linked(): number {
    return this.#up.size;
  }

  /** Goes through that round, and loses the server. */
  live({ plan, order, certificate, exam }: Past): void {
    this.reach();
    this.dispatch({ type: "loaded", backend: "wasm", step_ms: 1, examples: 0, program: null });
    this.dispatch({ type: "frame", frame: plan });
    this.dispatch({ type: "trained", round: plan.round, examples: 1, steps: 1, loss: 1, sums: [] });
    this.dispatch({ type: "frame", frame: order });
    this.#averaged(order, { weights: certificate.weights, survivors: [0, 1, 2], fraction: 1, seconds: 1 });
    this.dispatch({ type: "certified", certificate });
    if (exam) this.dispatch({ type: "frame", frame: exam });
    this.dispatch({ type: "disconnected", random: 0.5 });
  }

  /** The server is there. */
  reach(): void {
    const { client } = this;
    const weights = "a".repeat(64);
    this.dispatch({ type: "start", enter: ENTER });
    this.dispatch({ type: "connected" });
    const outer = { kind: "fedavg", learning_rate: 1, momentum: 0 } as const;
    const records = { run: "e".repeat(64), round: 0, version: 0, weights, outer, ice: [], byzantine: null };
    this.dispatch({ type: "frame", frame: { type: "entered", ...OF, client, ...records } });
  }

  dispatch(event: MemberEvent): void {
    const { group } = this.state.inHand;
    const { state, effects } = handle(this.state, event);
    this.state = state;
    // What the server asked for is over.
    if (state.byPeers) for (const effect of effects) this.#perform(effect);
    this.runner.memberHandled(event, state, group);
  }

  close(): void {
    this.runner.close();
    this.#exchange?.close();
    this.#worker?.terminate();
    this.links.close();
  }

  #perform(effect: MemberEffect): void {
    if (effect.type === "train") {
      const { round } = effect.plan;
      const done = { round, examples: this.examples, steps: 1, loss: 0.5, sums: [] };
      queueMicrotask(() => this.dispatch({ type: "trained", ...done }));
    } else if (effect.type === "measure") {
      const { round, version } = effect.exam;
      const result = { round, version, examples: 40, loss: 0.75, sums: [] };
      queueMicrotask(() => this.dispatch({ type: "measured", ...result }));
    } else if (effect.type === "average") void this.#average(effect.group);
  }

  async #average(order: GroupOrder): Promise<void> {
    const worker = await averagingWorker();
    this.#worker = worker;
    const { client: own, links, examples: weight } = this;
    const vector = vectorOf(this.place, order.bounds.at(-1) ?? 0);
    const exchange = new Exchange({ order, ...OF, own, vector, weight, links, worker });
    this.#exchange = exchange;
    exchange.start();
    for (const client of this.#up) exchange.up(client);
    for (const hear of this.#early) hear();
    const { mean, survivors, fraction, seconds } = await exchange.result;
    const weights = createHash("sha256").update(new Uint8Array(mean.buffer)).digest("hex");
    this.ended = { sha256: weights, survivors, fraction };
    this.#averaged(order, { weights, survivors, fraction, seconds });
  }

  #averaged(
    { round, group }: GroupOrder,
    made: { weights: string; survivors: readonly number[]; fraction: number; seconds: number },
  ): void {
    this.dispatch({ type: "averaged", round, group, ...made, signature: new Uint8Array(64) });
  }

  #received(other: string, frame: PeerFrame): void {
    switch (frame.type) {
      case "unattended":
      case "set_out":
      case "attended":
      case "trained":
      case "group":
      case "evaluation":
        this.runner.receive(other, frame);
        return;
      case "beat":
      case "pass":
      case "passed":
      case "fetch":
      case "weights":
      case "attest":
      case "say":
      case "show":
      case "ask_state":
      case "tell_state":
      case "tell_evidence":
        return;
      default:
        if (this.#exchange) this.#exchange.receive(other, frame);
        else this.#early.push(() => this.#exchange?.receive(other, frame));
    }
  }
}
