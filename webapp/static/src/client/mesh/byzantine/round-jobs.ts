/**
 * The calculations that a round's machine asks for, on bytes that this peer holds: the averaging worker makes them. The
 * twin is backend/peer/mesh/byzantine/part_jobs.py.
 */

import { type Bytes, sha256, toHex } from "../../../core/crypto/bytes";
import { cut } from "../../../core/numerics/butterfly/parts";
import { coinSeed } from "../../../protocol/mesh/byzantine/drawn-work";
import type { ByzantineEffect, ByzantineEvent } from "../../../protocol/mesh/byzantine/round-events";
import type { AgreedState } from "../../../protocol/mesh/byzantine/state";
import type { WorkFinding } from "../../../protocol/mesh/byzantine/statement-bodies";
import type { Turn } from "../../../protocol/mesh/byzantine/turn";
import type { ByzantineRules } from "../../../protocol/wire/mesh";
import type { AveragingWorker } from "../../workers/averaging-worker";
import type { RoundContents } from "./contents";

/** Effects that a calculation answers. */
type Calculated = Extract<
  ByzantineEffect,
  { readonly type: "make_mean" | "check_means" | "remake_mean" | "take_outer_step" }
>;
type EffectOf<T extends Calculated["type"]> = Extract<Calculated, { readonly type: T }>;

/**
 * What a member brings to a round after `state`: its update, null of a validator, and judgements. `weights` and `slots`
 * are the contents that the state names, `trainable` how many values are optimized.
 */
export interface RoundInput {
  readonly rules: ByzantineRules;
  readonly state: AgreedState;
  readonly update: Float32Array | null;
  readonly judgements: readonly WorkFinding[];
  readonly weights: Bytes;
  readonly slots: Bytes;
  readonly trainable: number;
}

export interface RoundJobsOptions {
  readonly given: RoundInput;
  readonly worker: AveragingWorker;
  readonly contents: RoundContents;
}

export class RoundJobs {
  readonly #options: RoundJobsOptions;
  /** Weights and momentum after the outer step. */
  stepped: { readonly weights: Bytes; readonly slots: Bytes } | null = null;

  constructor(options: RoundJobsOptions) {
    this.#options = options;
  }

  /** Cuts the own vector into so many parts; a validator has none. */
  async cut(parts: number): Promise<ByzantineEvent> {
    const { update } = this.#options.given;
    const pieces = update === null ? [] : cut(update, parts);
    return { type: "work_ready", pieces: await Promise.all(pieces.map((piece) => this.#keep(piece))) };
  }

  /** Returns the event that answers an effect of `turn`. */
  answer(effect: Calculated, turn: Turn): Promise<ByzantineEvent> {
    const sizes = turn.sizes;
    switch (effect.type) {
      case "make_mean":
        return this.#makeMean(effect, sizes[effect.part] as number);
      case "check_means":
        return this.#checkMeans(effect, turn);
      case "remake_mean":
        return this.#remakeMean(effect, sizes[effect.part] as number);
      case "take_outer_step":
        return this.#step(effect, sizes);
    }
  }

  async #makeMean(effect: EffectOf<"make_mean">, size: number): Promise<ByzantineEvent> {
    const pieces = this.#read(effect.pieces);
    const { worker } = this.#options;
    const { bytes } = await worker.ask({ type: "make_mean", pieces, size, radius: effect.radius });
    return { type: "mean_made", digest: await this.#keep(bytes) };
  }

  async #checkMeans({ coin, means }: EffectOf<"check_means">, turn: Turn): Promise<ByzantineEvent> {
    const sizes = turn.sizes;
    const { id: _, ...numbers } = await this.#options.worker.ask({
      type: "check_means",
      sizes,
      radii: sizes.map((_size, part) => turn.partRadius(part)),
      seed: coinSeed(coin),
      means: this.#read(means),
      own: this.#read(turn.pieces ?? []),
      part: turn.part,
      pieces: this.#read(turn.piecesOf(turn.part)),
    });
    return numbers;
  }

  async #remakeMean(effect: EffectOf<"remake_mean">, size: number): Promise<ByzantineEvent> {
    const { part, radius, coin } = effect;
    const about = { pieces: this.#read(effect.pieces), size, radius, seed: coinSeed(coin), part };
    const { worker } = this.#options;
    const { bytes, products, lengths } = await worker.ask({ type: "remake_mean", ...about });
    return { type: "mean_remade", part, digest: toHex(await sha256(bytes)), products, lengths };
  }

  async #step(effect: EffectOf<"take_outer_step">, sizes: readonly number[]): Promise<ByzantineEvent> {
    const { worker, given } = this.#options;
    const { rules, weights: base, slots: before, trainable } = given;
    const means = this.#read(effect.means);
    const step = { outer: rules.outer, base, slots: before, trainable, means, sizes };
    const { weights, slots } = await worker.ask({ type: "take_step", ...step });
    this.stepped = { weights, slots };
    const [digest, slotsDigest] = [toHex(await sha256(weights)), toHex(await sha256(slots))];
    return { type: "outer_stepped", weights: digest, slots: slotsDigest };
  }

  #read(digests: readonly string[]): readonly Bytes[] {
    return digests.map((digest) => this.#options.contents.get(digest));
  }

  #keep(bytes: Bytes): Promise<string> {
    const { contents, given } = this.#options;
    return contents.keep(given.state.round + 1, bytes);
  }
}
