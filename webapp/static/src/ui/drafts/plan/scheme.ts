/** How volunteers work together: what goes with a scheme is written, shown and taken out with it. */

import { type DraftTable, isTable, replacing, tableAt } from "../record";

/** How results are blended where a plan does not say it. */
export const USUAL_RECIPE = "vc-asgd";
// What a plan begins with; what fits model and data takes its place.
const ROUNDS = { rounds: 20, min_available_clients: 2, deadline: 120 };
const UNITS = { epochs: 20, assimilation: { name: USUAL_RECIPE }, trust: { replicas: 2 } };

export function isUnitsScheme(task: DraftTable): boolean {
  return tableAt(task, "coordination").scheme === "volunteer";
}

/** The change (RFC 7396) that has `task` say nothing that does not go with `scheme`, and all that it needs. */
export function schemeChange(task: DraftTable, scheme: string): DraftTable {
  const before = tableAt(task, "coordination");
  const stop: DraftTable = isTable(before.stop) ? { stop: before.stop } : {};
  if (scheme === "volunteer") {
    return {
      coordination: replacing(before, { scheme, units: UNITS, ...stop }),
      ...withoutScheme(task, "data", "shards_per_client"),
      ...withoutScheme(task, "training", "control_variates"),
    };
  }
  if (before.units !== undefined) return { coordination: replacing(before, { scheme, ...ROUNDS, ...stop }) };
  if (scheme === "federated") return withoutScheme(task, "coordination", "averaging");
  const choosing = { fraction_train: null, min_train_clients: null, over_selection: null };
  return { coordination: choosing, security: { max_update_norm: null } };
}

function withoutScheme(task: DraftTable, table: string, key: string): DraftTable {
  return key in tableAt(task, table) ? { [table]: { [key]: null } } : {};
}

/** What belongs to some schemes (`data-scheme`), or ways to blend results (`data-recipe`), is shown with them alone. */
export function showScheme(root: HTMLElement, task: DraftTable): void {
  const { scheme, units } = tableAt(task, "coordination");
  const recipe = isTable(units) ? (tableAt(units, "assimilation").name ?? USUAL_RECIPE) : "";
  for (const one of root.querySelectorAll<HTMLElement>("[data-scheme], [data-recipe]"))
    one.hidden = !(allowsScheme(one.dataset.scheme, scheme) && allowsScheme(one.dataset.recipe, recipe));
}

function allowsScheme(names: string | undefined, name: unknown): boolean {
  return names === undefined || names.split(" ").includes(`${name}`);
}
