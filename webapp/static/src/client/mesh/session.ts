/**
 * A browser's session in a mesh: performs the effects of the machine in protocol/mesh/member.ts. Owns the links and
 * the weights that it holds; its loop owns the rest.
 */

import type { Backend } from "../../core/backend";
import type { Bytes } from "../../core/crypto/bytes";
import type { Identity } from "../../core/crypto/keys";
import type { MistakeFindings } from "../../core/data/mistakes";
import { clock } from "../../core/messages/training";
import type { Evaluate } from "../../protocol/client/evaluation";
import { trainingSeconds } from "../../protocol/client/training-pace";
import { declines, handle, INITIAL, type MemberState } from "../../protocol/mesh/member";
import type {
  Entered,
  GroupAveraged,
  GroupFailed,
  MemberEffect,
  MemberEvent,
} from "../../protocol/mesh/member-events";
import type { Train } from "../../protocol/rounds/participant-events";
import {
  type Certificate,
  decodeToPeer,
  encodeMesh,
  type GroupOrder,
  type PeerToServer,
  type ServerToPeer,
} from "../../protocol/wire/mesh";
import { EvaluationExamples } from "../session/evaluation-examples";
import { localMetrics } from "../session/local-metrics";
import { workerPlan } from "../session/plan";
import { SessionLoop, type SessionLoopOptions } from "../session/session-loop";
import { programOf } from "../session/session-trainer";
import { TrustStore } from "../session/trust-store";
import { UpdateCache } from "../session/update-cache";
import { ownWays } from "../transports/links";
import type { Made, Trainer, TrainingProgress, TrainingResult } from "../workers/training-worker";
import type { TrainedWork } from "./averager";
import type { TrainPlan } from "./byzantine/work-judge";
import { PeerDirectory } from "./peer-directory";
import { type MeshView, NOTHING, type ShownMeshState } from "./view";
import { WeightStore } from "./weight-store";
import { WeightSources } from "./weights";

export interface MeshOptions extends SessionLoopOptions<ServerToPeer> {
  readonly task: string;
  /** The number of the volunteer's own training examples; 0 if the task assigns shards. */
  readonly examples: () => number;
  /** Takes what this device trained; null if no page needs it. */
  readonly made: ((made: Made) => void) | null;
}

export class MeshSession {
  readonly #options: MeshOptions;
  readonly #identities = new TrustStore();
  readonly #weightStore: WeightStore;
  readonly #updateCache = new UpdateCache();
  readonly #evaluationExamples = new EvaluationExamples();
  #identity: Identity | null = null;
  readonly #loop: SessionLoop<
    MemberState,
    MemberEvent,
    MemberEffect,
    PeerToServer,
    ServerToPeer,
    ShownMeshState
  >;
  #directory: PeerDirectory | null = null;
  #weights: WeightSources;
  #backend: Backend | null = null;
  /** The result of the last training, until the next one is done. */
  #work: TrainedWork | null = null;

  constructor(options: MeshOptions) {
    this.#options = options;
    this.#weights = new WeightSources(options.origin, options.task);
    this.#weightStore = new WeightStore(`${options.origin} ${options.task}`, options.task);
    this.#loop = new SessionLoop<
      MemberState,
      MemberEvent,
      MemberEffect,
      PeerToServer,
      ServerToPeer,
      ShownMeshState
    >(options, {
      initial: INITIAL,
      shown: NOTHING,
      handle: handle,
      encode: encodeMesh,
      decode: decodeToPeer,
      perform: (effect) => this.#perform(effect),
      received: (frame) => this.#receive(frame),
      handled: (event, { inHand }) =>
        this.#directory?.serverless.memberHandled(event, this.#loop.machine, inHand.group),
    });
  }

  get view(): MeshView {
    const links = this.#directory?.links;
    return {
      ...this.#loop.shown,
      machine: this.#loop.machine,
      members: this.#directory?.members ?? [],
      links: links?.view ?? [],
      strangers: links?.strangers ?? [],
      group: this.#directory?.results.view ?? null,
      serverless: this.#directory?.serverless.view ?? null,
      byzantine: this.#directory?.byzantine?.view ?? null,
    };
  }

  /** Takes part with this backend; with null the worker chooses one. */
  async start(backend: Backend | null): Promise<void> {
    if (!this.#loop.isClosed) return;
    const { averaged, failed } = this.#loop.machine;
    this.#loop.reset({ averaged, failed });
    this.#backend = backend;
    this.#weights = new WeightSources(this.#options.origin, this.#options.task);
    this.#loop.show({ ...NOTHING, examples: this.#loop.shown.examples });
    const { token, agent } = this.#options;
    this.#identity = await this.#identities.own();
    const stored = await this.#weightStore.read();
    if (stored !== null) await this.#weights.holdings.keep(stored.weights);
    const certificate = stored?.certificate ?? null;
    this.#loop.dispatch({
      type: "start",
      enter: {
        type: "enter",
        token,
        kind: "browser",
        backend: backend ?? "auto",
        agent,
        identity: this.#identity.publicKey,
        ways: ownWays(),
        address: null,
        round: certificate?.round ?? 0,
        holds: certificate?.weights ?? null,
        certificate,
        chain: stored?.chain ?? [],
      },
    });
  }

  stop(problem: string | null = null): void {
    this.#loop.stop(problem);
  }

  /** Returns where the version of these weights is wrong; null if no result is available now. */
  async examine(weights: string): Promise<MistakeFindings | null> {
    const trainer = this.#loop.trainer.current;
    const weightBytes = trainer && (await this.#fetchWeights(weights).catch(() => null));
    return weightBytes && this.#evaluationExamples.examine(trainer, weightBytes.slice().buffer);
  }

  #perform(effect: MemberEffect): void {
    switch (effect.type) {
      case "load":
        void this.#load(effect.bundle);
        return;
      case "train":
        this.#evaluationExamples.usePlan(effect.plan);
        this.#loop.show({ progress: null });
        void this.#train(effect.plan);
        return;
      case "measure":
        this.#evaluationExamples.useOrder(effect.exam);
        void this.#measure(effect.exam);
        return;
      case "abort_training":
      case "abort_measuring":
        this.#loop.trainer.current?.stop();
        return;
      case "average":
        this.#average(effect.group);
        return;
      case "abort_averaging":
        this.#directory?.averages.abort();
        return;
      case "deposit":
        void this.#weights.deposit(effect.weights);
        return;
      case "close":
        this.#end();
    }
  }

  #receive(frame: ServerToPeer): void {
    if (frame.type === "entered") this.#enter(frame);
    this.#directory?.receive(frame);
    if (frame.type === "state") this.#loop.show({ task: frame, taskAt: performance.now() });
    this.#loop.dispatch({ type: "frame", frame });
    if (frame.type === "entered") this.#directory?.averages.serverReached();
    this.#options.received(frame);
  }

  /** Creates the directory of peers at the server's first answer, which gives this peer its id. */
  #enter(entered: Entered): void {
    if (this.#identity === null) return;
    if (this.#directory?.client !== entered.client) this.#introduce(entered, this.#identity);
    if (entered.byzantine !== null) this.#directory?.checkBy(entered.byzantine);
  }

  #introduce(entered: Entered, identity: Identity): void {
    this.#leave();
    this.#directory = new PeerDirectory({
      entered,
      identity,
      identities: this.#identities,
      holdings: this.#weights.holdings,
      transport: this.#options.transport,
      connected: () => this.#loop.isOpen,
      group: () => this.#loop.machine.inHand.group,
      ended: (report) => this.#averaged(report),
      certified: (certificate) => this.#certified(certificate),
      declines: (round, group) => declines(this.#loop.machine, round, group),
      tell: (event) => this.#loop.dispatch(event),
      address: `${this.#options.origin} ${this.#options.task}`,
      fetchWeights: (hash) => this.#fetchWeights(hash),
      origin: this.#options.origin,
      model: () => this.#loop.shown.loaded ?? { parameters: 0, trainable: 0, exampleValues: 0 },
      hasten: () => this.#loop.connectNow(),
      changed: this.#options.changed,
    });
  }

  #average(group: GroupOrder): void {
    const { averager, byzantine } = this.#directory ?? {};
    this.#directory?.updateTargets();
    if (byzantine) byzantine.average(group);
    else if (this.#work) void averager?.average(group, this.#work);
  }

  #averaged(report: GroupAveraged | GroupFailed): void {
    if (report.type === "averaged")
      this.#loop.show({ examples: this.#loop.shown.examples + (this.#work?.examples ?? 0) });
    this.#loop.dispatch(report);
  }

  #certified(certificate: Certificate): void {
    this.#loop.dispatch({ type: "certified", certificate });
    const weights = this.#weights.holdings.find(certificate.weights);
    const { enter } = this.#loop.machine;
    if (weights === null || enter?.certificate !== certificate) return;
    void this.#weightStore.write({ certificate, chain: enter.chain, weights });
  }

  async #load(bundle: string): Promise<void> {
    const isNeeded = () => this.#loop.machine.entered?.bundle === bundle && this.#loop.machine.ready === null;
    const loaded = await this.#loop.trainer.load(bundle, this.#backend, isNeeded);
    if (!loaded) return;
    this.#loop.show({ loaded });
    const { backend, stepMs } = loaded;
    const examples = this.#options.examples();
    const program = programOf(loaded, this.#options.program);
    this.#loop.dispatch({ type: "loaded", backend, step_ms: stepMs, examples, program });
  }

  async #train(plan: Train): Promise<void> {
    const directory = this.#directory;
    const isNeeded = () => this.#loop.machine.inHand.plan === plan;
    if (directory?.rules) {
      const { rules } = directory;
      const learned = await this.#loop.trainer.retry(isNeeded, async (trainer) => {
        const byzantine = await directory.member(rules);
        return byzantine.learn(plan, this.#trainerOf(trainer), isNeeded);
      });
      if (learned !== null) this.#trained(plan, learned.base, learned.result);
      return;
    }
    const until = clock() + 1000 * trainingSeconds(null, plan.seconds, 0);
    let base: Bytes | null = null;
    const train = async (trainer: Trainer): Promise<TrainingResult> => {
      base = await this.#fetchWeights(plan.weights);
      const cached = this.#updateCache.take(plan);
      if (cached !== null) return cached;
      const weights = base.slice().buffer;
      return trainer.train(weights, workerPlan(plan, null, until), (progress) => {
        if (!isNeeded()) return;
        this.#loop.show({ progress });
        this.#options.progressed(progress);
      });
    };
    const trained = await this.#loop.trainer.retry(isNeeded, train);
    // Without a step there is no update.
    if (trained === null || trained.steps === 0 || base === null) return;
    this.#updateCache.keep(plan, trained);
    this.#trained(plan, base, trained);
  }

  /** Returns what trains by plans that members draw for themselves. */
  #trainerOf(trainer: Trainer): TrainPlan {
    return (plan, weights) => {
      const progressed = (progress: TrainingProgress) => this.#loop.show({ progress });
      const whole = workerPlan(plan, null, Number.POSITIVE_INFINITY);
      return trainer.train(weights.slice().buffer, whole, progressed);
    };
  }

  #trained(plan: Train, base: Bytes, trained: TrainingResult): void {
    const { entered } = this.#loop.machine;
    const { loaded } = this.#loop.shown;
    if (!entered || !loaded) return;
    this.#reportMetrics(plan, trained);
    this.#shareUpdate(base, trained);
    const { examples, steps } = trained;
    this.#work = {
      plan,
      update: new Float32Array(trained.update),
      examples,
      base: floats(base),
      outer: entered.outer,
      trainable: loaded.trainable,
      bundle: entered.bundle,
      run: entered.run,
    };
    // If the plan asks for privacy, only the update is reported.
    const { loss, sums } = plan.privacy === null ? trained : { loss: 0, sums: [] };
    this.#loop.dispatch({ type: "trained", round: plan.round, examples, steps, loss, sums });
  }

  /** Gives copies to the page, because the originals are transferred to other workers. */
  #shareUpdate(base: Bytes, { update }: TrainingResult): void {
    this.#options.made?.({ weights: base.slice().buffer, update: update.slice(0) });
  }

  #fetchWeights(hash: string): Promise<Bytes> {
    const size = 4 * (this.#loop.shown.loaded?.parameters ?? 0);
    return this.#weights.fetch(hash, this.#directory?.holders(hash, size) ?? null);
  }

  #reportMetrics({ version }: Train, trained: TrainingResult): void {
    const { loaded } = this.#loop.shown;
    if (loaded) this.#options.learned(localMetrics(version, trained, loaded));
  }

  /** Evaluates a version. A failure is ignored: other peers evaluate, too, and training continues. */
  async #measure(order: Evaluate): Promise<void> {
    const shards = order.shards.map(({ sha256 }) => sha256);
    const until = clock() + 1000 * trainingSeconds(null, order.seconds, 0);
    const trainer = this.#loop.trainer.current;
    const weights = await this.#fetchWeights(order.weights).catch(() => null);
    if (weights === null || this.#loop.machine.evaluation.order !== order) return;
    const measured = await trainer?.measure(weights.slice().buffer, { shards, until }).catch(() => null);
    if (!measured || this.#loop.machine.evaluation.order !== order) return;
    const { round, version } = order;
    const { examples, loss, sums } = measured;
    this.#loop.dispatch({ type: "measured", round, version, examples, loss, sums });
  }

  #end(): void {
    this.#leave();
    this.#updateCache.forget();
    this.#loop.show({ task: null });
  }

  #leave(): void {
    const directory = this.#directory;
    this.#directory = null;
    directory?.close();
  }
}

/** Views these bytes as float32, at their offset in the buffer. */
function floats(bytes: Bytes): Float32Array {
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}
