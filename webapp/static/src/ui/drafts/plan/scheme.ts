/** The training scheme: its settings are written, shown and removed with it. */

import { changeBetween, type DraftTable, isTable, tableAt } from "../record";

/** The method of assimilating results if a plan names none. */
export const USUAL_RECIPE = "vc-asgd";
// The initial values of a plan; those proposed for model and data replace them.
const ROUNDS = { rounds: 20, min_available_clients: 2, deadline: 120 };
const UNITS = { epochs: 20, assimilation: { name: USUAL_RECIPE }, trust: { replicas: 2 } };

/** Returns the change (RFC 7396) that removes from `task` all that does not fit `scheme`, and adds what it needs. */
export function schemeChange(task: DraftTable, scheme: string): DraftTable {
  const coordination = tableAt(task, "coordination");
  const stop: DraftTable = isTable(coordination.stop) ? { stop: coordination.stop } : {};
  if (scheme === "volunteer") {
    return {
      coordination: changeBetween(coordination, { scheme, units: UNITS, ...stop }),
      ...withoutScheme(task, "data", "shards_per_client"),
      ...withoutScheme(task, "training", "control_variates"),
      ...withoutScheme(task, "security", "robust"),
    };
  }
  if (coordination.units !== undefined)
    return { coordination: changeBetween(coordination, { scheme, ...ROUNDS, ...stop }) };
  if (scheme === "federated") {
    const ofPeers = ["averaging", "byzantine"].filter((key) => key in coordination);
    return ofPeers.length > 0 ? { coordination: Object.fromEntries(ofPeers.map((key) => [key, null])) } : {};
  }
  const choosing = { fraction_train: null, min_train_clients: null, over_selection: null };
  return { coordination: choosing, security: { max_update_norm: null, robust: null } };
}

function withoutScheme(task: DraftTable, table: string, key: string): DraftTable {
  return key in tableAt(task, table) ? { [table]: { [key]: null } } : {};
}

/** Shows the parts of some schemes (`data-scheme`), or of ways to blend results (`data-recipe`), only with these. */
export function showScheme(root: HTMLElement, task: DraftTable): void {
  const { scheme, units } = tableAt(task, "coordination");
  const recipe = isTable(units) ? (tableAt(units, "assimilation").name ?? USUAL_RECIPE) : "";
  for (const one of root.querySelectorAll<HTMLElement>("[data-scheme], [data-recipe]"))
    one.hidden = !(allowsScheme(one.dataset.scheme, scheme) && allowsScheme(one.dataset.recipe, recipe));
}

function allowsScheme(names: string | undefined, name: unknown): boolean {
  return names === undefined || names.split(" ").includes(`${name}`);
}
