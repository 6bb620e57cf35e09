/** Starts the tracing of a plan; its program is fetched for the first one that asks for it. */

import type { TraceRequest } from "../../../core/messages/tracing";
import type { TrainingPlan } from "../../../core/messages/training";
import type { TrainingStep } from "../step";
import type { Tracer } from "./tracer";

/** Returns what traces the plan. Throws an Error for people if it cannot be traced. */
export async function tracerOf(
  step: TrainingStep,
  { privacy, control, proximalMu }: TrainingPlan,
  trace: TraceRequest,
): Promise<Tracer> {
  if (privacy !== null || control !== null || proximalMu !== 0)
    throw new Error("A training whose gradients are changed by privacy or corrections is not traced.");
  const { Tracer } = await import("./tracer");
  return new Tracer(step, trace);
}
