/**
 * Selects the examples of a plan: rows of its data shards, parts that the server assigns, or the volunteer's own
 * examples.
 */

import type { Bundle } from "../../../core/data/bundle";
import { joinShards, pickRows } from "../../../core/data/examples";
import { decodeShard } from "../../../core/data/shard";
import type { Rows, TrainingPlan } from "../../../core/messages/training";
import { later, UserError } from "../../../core/user-messages";
import { SourceFeed } from "./example-source";
import { type Feed, openFeed } from "./feed";
import type { LocalExamples } from "./local-data";

/**
 * Fetches the data of `plan` and returns a function that opens its feed after the steps that are done. `own` are examples of local files, if any.
 */
export async function plannedFeed(
  bundle: Bundle,
  plan: TrainingPlan,
  own: LocalExamples | null,
  fetch: (shard: string) => Promise<Uint8Array>,
): Promise<(begun: number) => Feed> {
  const { shards, unit } = plan;
  if (shards.length > 0 && own?.dealt) {
    const source = own.parts(shards);
    return (begun) => new SourceFeed(bundle, source, plan, begun);
  }
  if (shards.length > 0) {
    const fetched = shards.map(async (sha256) => decodeShard(await fetch(sha256)));
    const examples = joinShards(bundle, await Promise.all(fetched));
    const chosen = unit ? pickRows(examples, numbers(unit.rows, examples.count)) : examples;
    return (begun) => openFeed(bundle, chosen, plan, null, begun);
  }
  if (own === null || own.dealt)
    throw new Error(later("This task trains on your own files; choose some first."));
  const source = own.source("train");
  return (begun) => new SourceFeed(bundle, source, plan, begun);
}

/** Returns the numbers of `rows`. Throws an error for people if there are fewer examples. */
function numbers({ first, count }: Rows, available: number): Uint32Array {
  if (count < 1 || first + count > available) {
    throw new UserError(
      later("The work unit is %(count)s examples from number %(first)s on, of %(available)s in its shard.", {
        count,
        first,
        available,
      }),
    );
  }
  return Uint32Array.from({ length: count }, (_, i) => first + i);
}
