/**
 * One browser's part in the mesh of one task: performs the effects that the machine in protocol/mesh/member.ts decides.
 * Owns the links and the weights that it holds; its stay owns the rest.
 */

import type { Backend } from "../../core/backend";
import type { Bytes } from "../../core/crypto/bytes";
import type { Identity } from "../../core/crypto/keys";
import type { Findings } from "../../core/data/mistakes";
import { clock } from "../../core/messages/training";
import { trainingSeconds } from "../../protocol/client/training-pace";
import { handle, INITIAL, type State } from "../../protocol/mesh/member";
import type { Averaged, Effect, Entered, Event, Failed } from "../../protocol/mesh/member-events";
import type { Evaluate, Train } from "../../protocol/rounds/participant-events";
import {
  type Certificate,
  decodeToPeer,
  encodeMesh,
  type PeerToServer,
  type ServerToPeer,
} from "../../protocol/wire/mesh";
import { Examining } from "../session/evaluation-examples";
import { Identities } from "../session/identities";
import { learnedIn } from "../session/local-metrics";
import { workerPlan } from "../session/plan";
import { Stay, type StayOptions } from "../session/session-loop";
import { Kept } from "../session/update-cache";
import { ownWays } from "../transports/links";
import type { Made, Trained, Trainer } from "../workers/training-worker";
import type { Work } from "./averager";
import { Company } from "./peer-directory";
import { type MeshView, NOTHING, type Shown } from "./view";
import { Visits } from "./weight-store";
import { Weights } from "./weights";

export interface MeshOptions extends StayOptions<ServerToPeer> {
  readonly task: string;
  /** The volunteer's own training examples; 0 where the task deals out shards. */
  readonly examples: () => number;
  /** Told what this device trained; null where nobody wants to know. */
  readonly made: ((made: Made) => void) | null;
}

export class MeshSession {
  readonly #options: MeshOptions;
  readonly #identities = new Identities();
  readonly #visits: Visits;
  readonly #kept = new Kept();
  readonly #examining = new Examining();
  #identity: Identity | null = null;
  readonly #stay: Stay<State, Event, Effect, PeerToServer, ServerToPeer, Shown>;
  #company: Company | null = null;
  #weights: Weights;
  #backend: Backend | null = null;
  /** What was trained last, until the next training is done. */
  #work: Work | null = null;

  constructor(options: MeshOptions) {
    this.#options = options;
    this.#weights = new Weights(options.origin, options.task);
    this.#visits = new Visits(`${options.origin} ${options.task}`, options.task);
    this.#stay = new Stay<State, Event, Effect, PeerToServer, ServerToPeer, Shown>(options, {
      initial: INITIAL,
      shown: NOTHING,
      handle,
      encode: encodeMesh,
      decode: decodeToPeer,
      perform: (effect) => this.#perform(effect),
      received: (frame) => this.#receive(frame),
      handled: (event, { inHand }) => this.#company?.goingOn.noticed(event, this.#stay.machine, inHand.group),
    });
  }

  get view(): MeshView {
    const links = this.#company?.links;
    return {
      ...this.#stay.shown,
      machine: this.#stay.machine,
      members: this.#company?.members ?? [],
      links: links?.view ?? [],
      strangers: links?.strangers ?? [],
      group: this.#company?.averager.view ?? null,
      onward: this.#company?.goingOn.view ?? null,
    };
  }

  /** Takes part with this backend; null leaves the choice to the worker. */
  async start(backend: Backend | null): Promise<void> {
    if (!this.#stay.isClosed) return;
    const { averaged, failed } = this.#stay.machine;
    this.#stay.renew({ averaged, failed });
    this.#backend = backend;
    this.#weights = new Weights(this.#options.origin, this.#options.task);
    this.#stay.show({ ...NOTHING, examples: this.#stay.shown.examples });
    const { token, agent } = this.#options;
    this.#identity = await this.#identities.own();
    const visit = await this.#visits.read();
    if (visit !== null) await this.#weights.holdings.keep(visit.weights);
    const certificate = visit?.certificate ?? null;
    this.#stay.dispatch({
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
      },
    });
  }

  stop(problem: string | null = null): void {
    this.#stay.stop(problem);
  }

  /** Where the version of these weights is wrong; null where that cannot be told now. */
  async examine(weights: string): Promise<Findings | null> {
    const trainer = this.#stay.trainer.current;
    const brought = trainer && (await this.#bring(weights).catch(() => null));
    return brought && this.#examining.ask(trainer, brought.slice().buffer);
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case "load":
        void this.#load(effect.bundle);
        return;
      case "train":
        this.#examining.trained(effect.plan);
        this.#stay.show({ progress: null });
        void this.#train(effect.plan);
        return;
      case "measure":
        this.#examining.measured(effect.exam);
        void this.#measure(effect.exam);
        return;
      case "abort_training":
      case "abort_measuring":
        this.#stay.trainer.current?.stop();
        return;
      case "average":
        this.#company?.want();
        if (this.#work) void this.#company?.averager.average(effect.group, this.#work);
        return;
      case "abort_averaging":
        this.#company?.averager.abort();
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
    this.#company?.told(frame);
    if (frame.type === "state") this.#stay.show({ task: frame, taskAt: performance.now() });
    this.#stay.dispatch({ type: "frame", frame });
    this.#options.heard(frame);
  }

  /** Who this peer is stands with the first answer of the server: then it can have links. */
  #enter(entered: Entered): void {
    if (this.#company?.client === entered.client || this.#identity === null) return;
    this.#leave();
    this.#company = new Company({
      entered,
      identity: this.#identity,
      identities: this.#identities,
      holdings: this.#weights.holdings,
      transport: this.#options.transport,
      connected: () => this.#stay.isOpen,
      group: () => this.#stay.machine.inHand.group,
      ended: (report) => this.#averaged(report),
      certified: (certificate) => this.#certified(certificate),
      tell: (event) => this.#stay.dispatch(event),
      hasten: () => this.#stay.hasten(),
      changed: this.#options.changed,
    });
  }

  #averaged(report: Averaged | Failed): void {
    if (report.type === "averaged")
      this.#stay.show({ examples: this.#stay.shown.examples + (this.#work?.examples ?? 0) });
    this.#stay.dispatch(report);
  }

  #certified(certificate: Certificate): void {
    this.#stay.dispatch({ type: "certified", certificate });
    const weights = this.#weights.holdings.find(certificate.weights);
    if (weights !== null) void this.#visits.write({ certificate, weights });
  }

  async #load(bundle: string): Promise<void> {
    const wanted = () => this.#stay.machine.entered?.bundle === bundle && this.#stay.machine.ready === null;
    const loaded = await this.#stay.trainer.load(bundle, this.#backend, wanted);
    if (!loaded) return;
    this.#stay.show({ loaded });
    const { backend, stepMs } = loaded;
    this.#stay.dispatch({ type: "loaded", backend, step_ms: stepMs, examples: this.#options.examples() });
  }

  async #train(plan: Train): Promise<void> {
    const wanted = () => this.#stay.machine.inHand.plan === plan;
    const until = clock() + 1000 * trainingSeconds(null, plan.seconds, 0);
    let base: Bytes | null = null;
    const train = async (trainer: Trainer): Promise<Trained> => {
      base = await this.#bring(plan.weights);
      const kept = this.#kept.take(plan);
      if (kept !== null) return kept;
      const weights = base.slice().buffer;
      return trainer.train(weights, workerPlan(plan, null, until), (progress) => {
        if (!wanted()) return;
        this.#stay.show({ progress });
        this.#options.progressed(progress);
      });
    };
    const trained = await this.#stay.trainer.insist(wanted, train);
    const { entered } = this.#stay.machine;
    const { loaded } = this.#stay.shown;
    // Without a whole step there is nothing to say.
    if (trained === null || trained.steps === 0 || base === null || !entered || !loaded) return;
    this.#kept.keep(plan, trained);
    this.#learnedIn(plan, trained);
    this.#tell(base, trained);
    const { examples, steps } = trained;
    this.#work = {
      plan,
      update: new Float32Array(trained.update),
      examples,
      base: floats(base),
      outer: entered.outer,
      trainable: loaded.trainable,
      bundle: entered.bundle,
    };
    // Where the plan asks for privacy, nothing is told but the update.
    const { loss, sums } = plan.privacy === null ? trained : { loss: 0, sums: [] };
    this.#stay.dispatch({ type: "trained", round: plan.round, examples, steps, loss, sums });
  }

  /** Copies: what was trained goes on to other workers. */
  #tell(base: Bytes, { update }: Trained): void {
    this.#options.made?.({ weights: base.slice().buffer, update: update.slice(0) });
  }

  #bring(hash: string): Promise<Bytes> {
    const size = 4 * (this.#stay.shown.loaded?.parameters ?? 0);
    return this.#weights.bring(hash, this.#company?.holders(hash, size) ?? null);
  }

  #learnedIn({ version }: Train, trained: Trained): void {
    const { loaded } = this.#stay.shown;
    if (loaded) this.#options.learned(learnedIn(version, trained, loaded));
  }

  /** A measurement that fails is left to others; training goes on. */
  async #measure(exam: Evaluate): Promise<void> {
    const shards = exam.shards.map(({ sha256 }) => sha256);
    const until = clock() + 1000 * trainingSeconds(null, exam.seconds, 0);
    const trainer = this.#stay.trainer.current;
    const weights = await this.#bring(exam.weights).catch(() => null);
    if (weights === null || this.#stay.machine.exam.order !== exam) return;
    const measured = await trainer?.measure(weights.slice().buffer, { shards, until }).catch(() => null);
    if (!measured || this.#stay.machine.exam.order !== exam) return;
    const { round, version } = exam;
    const { examples, loss, sums } = measured;
    this.#stay.dispatch({ type: "measured", round, version, examples, loss, sums });
  }

  #end(): void {
    this.#leave();
    this.#kept.forget();
    this.#stay.show({ task: null });
  }

  #leave(): void {
    const company = this.#company;
    this.#company = null;
    company?.close();
  }
}

/** The values that these bytes are, wherever they lie in their buffer. */
function floats(bytes: Bytes): Float32Array {
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}
