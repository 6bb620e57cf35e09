/**
 * A browser's session in a task with work units: performs the effects of the machine in
 * protocol/units/unit-client.ts. Owns the results that wait to be sent; its loop owns the rest.
 */

import type { Backend } from "../../core/backend";
import { toHex } from "../../core/crypto/bytes";
import { resultCommitment, SALT_BYTES } from "../../core/crypto/result-commitment";
import { cachedShards } from "../../core/data/shard-cache";
import type { StateSaving } from "../../core/messages/training";
import { handle, INITIAL, type UnitClientState } from "../../protocol/units/unit-client";
import type { Unit, UnitClientEffect, UnitClientEvent } from "../../protocol/units/unit-client-events";
import {
  decodeToUnits,
  encodeUnits,
  type ServerToUnits,
  type UnitsToServer,
} from "../../protocol/wire/units";
import { SessionLoop, type SessionLoopOptions } from "../session/session-loop";
import { programOf } from "../session/session-trainer";
import { Uploader } from "../session/uploader";
import type { TrainingResult } from "../workers/training-worker";
import { checkpointedLeases, keepCheckpoints, savingOf } from "./checkpoints";
import { EpochMetrics } from "./epoch-metrics";
import { Heartbeats } from "./heartbeats";
import { LocalState } from "./local-state";
import { OfflineBuffer } from "./offline-buffer";
import { unitPlan } from "./plan";
import { historyAfter, recentUnits } from "./unit-history";
import { NOTHING, type ShownUnitsState, type UnitsView } from "./view";

/** One unit is trained while the next one is fetched or the last one sent. */
const SLOTS = 2;
/** The device stops after this number of units in a row that failed. */
const MOST_FAILURES = 3;

export type UnitsOptions = SessionLoopOptions<ServerToUnits>;

export class UnitsSession {
  readonly #options: UnitsOptions;
  readonly #uploader: Uploader;
  readonly #results = new Map<number, Uint8Array<ArrayBuffer>>();
  readonly #localState = new LocalState();
  readonly #epochMetrics = new EpochMetrics();
  readonly #buffer = new OfflineBuffer();
  readonly #heartbeats = new Heartbeats((lease, steps) =>
    this.#loop.dispatch({ type: "pulse", lease, steps }),
  );
  readonly #loop: SessionLoop<
    UnitClientState,
    UnitClientEvent,
    UnitClientEffect,
    UnitsToServer,
    ServerToUnits,
    ShownUnitsState
  >;
  #backend: Backend | null = null;
  /** The lease that the worker trains. */
  #training: number | null = null;
  /** Leases that were held when the connection was lost. */
  #leasesAtDisconnect: ReadonlySet<number> = new Set();
  #failures = 0;
  /** The public id of this client, to which its commitments belong. */
  #client = "";
  /** The name of the task. */
  #task = "";
  /** Set while the page is closed: the checkpoints stay for the next page. */
  #leaving = false;

  constructor(options: UnitsOptions) {
    this.#options = options;
    this.#uploader = new Uploader(options.transport);
    this.#loop = new SessionLoop<
      UnitClientState,
      UnitClientEvent,
      UnitClientEffect,
      UnitsToServer,
      ServerToUnits,
      ShownUnitsState
    >(options, {
      initial: INITIAL,
      shown: NOTHING,
      handle,
      encode: encodeUnits,
      decode: decodeToUnits,
      perform: (effect) => this.#perform(effect),
      received: (frame) => this.#receive(frame),
      connecting: () => this.#uploader.connecting(),
      handled: (event) => {
        if (event.type === "disconnected") this.#recordLeases();
        this.#finished();
      },
    });
  }

  get view(): UnitsView {
    const { machine, shown } = this.#loop;
    return { ...shown, machine };
  }

  /** Takes part with this backend; with null the worker chooses one. */
  async start(backend: Backend | null): Promise<void> {
    const shards = await cachedShards();
    if (!this.#loop.isClosed) return;
    // Another session may use another backend, so nothing loaded is kept.
    const { counted, blended, rejected, examples } = this.#loop.machine;
    this.#loop.reset({ counted, blended, rejected, examples });
    this.#backend = backend;
    this.#failures = 0;
    this.#loop.show({ ...NOTHING, units: this.#loop.shown.units });
    const { token, agent } = this.#options;
    const enlist = {
      type: "enlist",
      token,
      kind: "browser",
      backend: backend ?? "auto",
      agent,
      shards,
    } as const;
    this.#loop.dispatch({ type: "start", enlist, slots: SLOTS, at_once: 1 });
  }

  /** Holds as many units from now on as it trains in so many seconds, to work without a connection. */
  workOffline(seconds: number): void {
    this.#buffer.ask(seconds);
    this.#fill();
  }

  #fill(): void {
    const { slots, offline } = this.#loop.machine;
    const want = this.#buffer.want();
    // Without slots the session finishes.
    if (slots > 0 && (want.slots !== slots || want.offline !== offline)) this.#loop.dispatch(want);
  }

  /** Stops and gives back the units without a result. */
  stop(problem: string | null = null): void {
    this.#loop.stop(problem);
  }

  /** Stops since the page is closed: another page may continue the units from their checkpoints. */
  leave(): void {
    this.#leaving = true;
    this.stop();
    this.#leaving = false;
  }

  /** Finishes the units in hand, and then stops. */
  finish(): void {
    if (this.#loop.isClosed) return;
    this.#loop.show({ finishing: true });
    this.#loop.dispatch({ type: "want", slots: 0, at_once: 1 });
  }

  /**
   * Records the leases in hand: data that are unavailable later were lost by the server, which is no fault of this
   * device.
   */
  #recordLeases(): void {
    this.#leasesAtDisconnect = new Set(this.#loop.machine.units.map(({ unit }) => unit.lease));
  }

  /** Stops once the session was to finish and no unit is left. */
  #finished(): void {
    const { units } = this.#loop.machine;
    if (this.#loop.shown.finishing && !this.#loop.isClosed && units.length === 0) this.stop();
  }

  #perform(effect: UnitClientEffect): void {
    switch (effect.type) {
      case "load":
        void this.#load(effect.bundle);
        return;
      case "fetch":
        this.#heartbeats.begin(effect.unit);
        void this.#fetch(effect.unit);
        return;
      case "train":
        this.#loop.show({ progress: null });
        void this.#train(effect.unit);
        return;
      case "finish":
        this.#loop.trainer.current?.stop();
        return;
      case "forget":
        this.#forget(effect.lease);
        return;
      case "send_chunks": {
        const { lease, from, until } = effect;
        const result = this.#results.get(lease);
        if (result) this.#uploader.send(lease, result, from, until, () => this.#results.has(lease));
        return;
      }
      case "close":
        this.#end();
    }
  }

  #receive(frame: ServerToUnits): void {
    if (frame.type === "enlisted") {
      this.#uploader.welcomed(frame.chunk_bytes);
      this.#client = frame.client;
      this.#task = frame.task;
      this.#buffer.allow(frame.offline);
    }
    if (frame.type === "counted") this.#localState.counted(frame.lease);
    if (frame.type === "rejected") this.#localState.refused(frame.lease);
    this.#loop.dispatch({ type: "frame", frame });
    this.#loop.show({
      units: recentUnits(historyAfter(this.#loop.shown.units, frame), this.#loop.machine),
    });
    this.#options.received(frame);
  }

  /** Whether this unit is still at this stage. */
  #isAt({ lease }: Unit, stage: "fetching" | "training"): boolean {
    return this.#loop.machine.units.some((one) => one.unit.lease === lease && one.stage === stage);
  }

  async #load(bundle: string): Promise<void> {
    const isNeeded = () => this.#loop.machine.bundle === bundle && this.#loop.machine.ready === null;
    const loaded = await this.#loop.trainer.load(bundle, this.#backend, isNeeded);
    if (!loaded) return;
    this.#loop.show({ loaded });
    const { backend, stepMs } = loaded;
    const program = programOf(loaded, this.#options.program);
    const checkpointed = await checkpointedLeases(this.#task);
    if (isNeeded()) this.#loop.dispatch({ type: "loaded", backend, step_ms: stepMs, program, checkpointed });
  }

  async #fetch(unit: Unit): Promise<void> {
    const { lease, weights, shard } = unit;
    const { origin } = this.#options;
    const fetched = await this.#loop.trainer.retry(
      () => this.#isAt(unit, "fetching"),
      (trainer) => trainer.fetch(lease, origin, weights, shard.sha256),
      (problem) => this.#failed(lease, "data", problem),
    );
    if (fetched) this.#loop.dispatch({ type: "fetched", lease });
  }

  async #train(unit: Unit): Promise<void> {
    const { lease, weights } = unit;
    const isNeeded = () => this.#isAt(unit, "training");
    const isCompared = Boolean(this.#loop.machine.ready?.program);
    const plan = unitPlan(unit, this.#localState.newest, isCompared);
    this.#training = lease;
    const saving = await this.#saving(unit);
    const began = performance.now();
    const trained = await this.#loop.trainer.retry(
      isNeeded,
      (trainer) =>
        trainer.train(
          weights,
          plan,
          (progress) => {
            if (!isNeeded()) return;
            this.#heartbeats.stepped(lease, progress.step);
            this.#loop.show({ progress });
            this.#options.progressed(progress);
          },
          saving,
        ),
      (problem) => this.#failed(lease, "failed", problem),
    );
    if (this.#training === lease) this.#training = null;
    if (!trained) return;
    if (trained.steps === 0) this.#loop.dispatch({ type: "failed", lease, cause: this.#loop.machine.cause });
    else {
      const unitSeconds = (performance.now() - began) / 1000;
      this.#loop.show({ unitSeconds });
      this.#buffer.trained(unitSeconds, trained.update.byteLength);
      this.#fill();
      await this.#trained(unit, trained);
    }
  }

  async #trained(unit: Unit, trained: TrainingResult): Promise<void> {
    const { lease, epoch } = unit;
    const { update, local, examples, steps, loss, sums, checkpoints } = trained;
    const { loaded } = this.#loop.shown;
    this.#failures = 0;
    const result = new Uint8Array(update);
    const committed = await this.#commit(lease, result);
    if (!this.#isAt(unit, "training")) return;
    if (local) this.#localState.sent(lease, local);
    this.#results.set(lease, result);
    this.#loop.show({ progress: null });
    if (loaded) this.#options.learned(this.#epochMetrics.add(epoch, trained, loaded));
    const size = result.length;
    const told = { examples, steps, loss, sums, checkpoints };
    this.#loop.dispatch({ type: "trained", lease, size, ...told, ...committed });
  }

  /** Returns how a unit's training is saved. */
  async #saving(unit: Unit): Promise<StateSaving | undefined> {
    const { bundle, ready } = this.#loop.machine;
    if (bundle === null) return undefined;
    const owner = { task: this.#task, client: this.#client, bundle, program: ready?.program ?? null };
    return savingOf(owner, unit);
  }

  /** Commits to a result if this client told the program that computes: others get the same bits by it. */
  async #commit(
    lease: number,
    result: Uint8Array<ArrayBuffer>,
  ): Promise<{ readonly commitment: string | null; readonly salt: string | null }> {
    if (!this.#loop.machine.ready?.program) return { commitment: null, salt: null };
    const salt = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
    return { commitment: await resultCommitment(salt, this.#client, lease, result), salt: toHex(salt) };
  }

  /** Gives a unit that failed here to other clients; a device on which all fail stops. */
  #failed(lease: number, cause: "data" | "failed", problem: string): void {
    this.#loop.dispatch({ type: "failed", lease, cause });
    if (cause === "data" && this.#leasesAtDisconnect.has(lease)) return;
    this.#failures += 1;
    if (this.#failures >= MOST_FAILURES) this.stop(problem);
  }

  #forget(lease: number): void {
    this.#heartbeats.end(lease);
    this.#results.delete(lease);
    this.#loop.trainer.current?.forget(lease);
    if (this.#training === lease) this.#loop.trainer.current?.stop();
    if (this.#leaving) return;
    const leases = this.#loop.machine.units.map(({ unit }) => unit.lease);
    void keepCheckpoints(this.#task, new Set(leases));
  }

  #end(): void {
    this.#heartbeats.endAll();
    this.#results.clear();
    this.#localState.forget();
    this.#loop.show({ finishing: false });
  }
}
