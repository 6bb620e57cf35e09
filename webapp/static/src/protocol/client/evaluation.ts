/**
 * An evaluation on held-out examples, without I/O; part of the machines of participants and of a mesh's peers. The
 * twin is backend/protocols/client/evaluation.py.
 */

import type { FrameOf } from "../wire/messages";
import { type ConnectedMachine, type Send, sendWhenOpen } from "./connection";
import { chain, type Step, step } from "./reducer";

export type Evaluate = FrameOf<"evaluate">;
export type Evaluation = FrameOf<"evaluation">;

export interface AssignedEvaluation {
  readonly order: Evaluate | null;
  /** The result, once the version is evaluated. */
  readonly result: Evaluation | null;
}

export const NO_EVALUATION: AssignedEvaluation = { order: null, result: null };

/** The state of a machine that evaluates versions. */
interface EvaluatingMachine extends ConnectedMachine {
  readonly evaluation: AssignedEvaluation;
}

/** The result that `measure` asked for. The host never reports it after `abort_measuring`. */
export type VersionMeasured = { readonly type: "measured" } & Omit<Evaluation, "type">;

/** Evaluate the version on held-out examples; then report `measured`. */
interface MeasureVersion {
  readonly type: "measure";
  readonly exam: Evaluate;
}

/** End the evaluation in progress and discard its result. */
interface AbortMeasuring {
  readonly type: "abort_measuring";
}

export type EvaluationEffect = MeasureVersion | AbortMeasuring;

export function isMeasuring({ order, result }: AssignedEvaluation): boolean {
  return order !== null && result === null;
}

/** Begins the evaluation of `order`. */
export function beginEvaluation<S extends EvaluatingMachine>(
  state: S,
  order: Evaluate,
): Step<S, EvaluationEffect | Send<Evaluation>> {
  const { order: currentOrder, result } = state.evaluation;
  if (currentOrder && currentOrder.round === order.round && currentOrder.version === order.version) {
    // The server repeats an order after a reconnection, like a plan.
    return result ? sendWhenOpen(state, result) : step(state);
  }
  return chain<S, EvaluationEffect>(
    state,
    (current) => forgetEvaluation(current),
    (current) => step({ ...current, evaluation: { order, result: null } }, { type: "measure", exam: order }),
  );
}

export function finishEvaluation<S extends EvaluatingMachine>(
  state: S,
  event: VersionMeasured,
): Step<S, Send<Evaluation>> {
  const { order } = state.evaluation;
  if (order === null || state.evaluation.result !== null) return step(state);
  if (event.round !== order.round || event.version !== order.version) return step(state);
  const result: Evaluation = { ...event, type: "evaluation" };
  return sendWhenOpen({ ...state, evaluation: { order, result } }, result);
}

/** Forgets the current evaluation if it is of version `until` or an older one. */
export function forgetEvaluation<S extends EvaluatingMachine>(
  state: S,
  until = Number.POSITIVE_INFINITY,
): Step<S, AbortMeasuring> {
  const { evaluation } = state;
  if (evaluation.order === null || evaluation.order.version > until) return step(state);
  const next = { ...state, evaluation: NO_EVALUATION };
  return isMeasuring(evaluation) ? step(next, { type: "abort_measuring" }) : step(next);
}
