/** The wizard's step `plan`: values, the reason for each, and their costs while they are typed. */

import { say } from "../../../i18n/texts/owners/plan";
import { requireElement, setChildren, setText } from "../../lib/dom";
import { changeOf, FormFields, valueAt } from "../fields";
import type { DraftFrame } from "../frame";
import { latestRequest } from "../latest-request";
import { node, sentences, tableRow } from "../nodes";
import { type CostPreview, type Costs, costRows, deviceRows, type Proposal } from "../plan/cost-preview";
import { mountModelTraining } from "../plan/model-training";
import { schemeChange, showScheme, USUAL_RECIPE } from "../plan/scheme";
import { type DraftTable, joinChanges, tableAt } from "../record";

// The settings of a recipe are stored beside its name, and only with it.
const RECIPE = "coordination.units.assimilation";

export function mount(frame: DraftFrame): void {
  const root = requireElement(document, "draft");
  const volunteers = requireElement<HTMLInputElement>(root, "volunteers");
  const brought = root.querySelector<HTMLInputElement>("[data-examples]");
  let proposals: readonly Proposal[] = [];

  const question = latestRequest<CostPreview>(
    `${frame.address}/estimate`,
    () => ({ task: fields.task, ...counts(volunteers, brought) }),
    show,
    (why) => setText(requireElement(root, "unsound"), why),
  );
  const fields = new FormFields(root, frame, () => {
    showScheme(root, fields.task);
    showProposals();
    question();
  });
  for (const field of [volunteers, brought]) field?.addEventListener("input", question);
  // Epochs and steps are alternatives.
  root.addEventListener("input", (event) => {
    const key = event.target instanceof HTMLInputElement ? event.target.dataset.key : undefined;
    // The server applies the proposals for the other scheme when this is saved.
    if (key === "coordination.scheme") {
      void fields.change(schemeChange(fields.task, (event.target as HTMLInputElement).value));
      // What is typed next is the owner's own, which proposals saved with the scheme would replace.
      void frame.flush();
    }
    if (key?.startsWith(RECIPE) && tableAt(fields.task, ...RECIPE.split(".")).name === undefined)
      void fields.change(changeOf(`${RECIPE}.name`, USUAL_RECIPE));
    if (event.target instanceof HTMLInputElement && event.target.value === "") return;
    if (key === "training.epochs") void fields.change(changeOf("training.steps", null));
    if (key === "training.steps") void fields.change(changeOf("training.epochs", null));
  });
  requireElement(root, "take-all").addEventListener("click", () => void take(differing()));
  for (const button of root.querySelectorAll<HTMLElement>("[data-take]")) {
    button.addEventListener(
      "click",
      () => void take(proposals.filter(({ key }) => key === button.dataset.take)),
    );
  }
  mountModelTraining(root, frame, fields);
  showScheme(root, fields.task);
  question();

  function show(outlook: CostPreview): void {
    proposals = outlook.proposals;
    setText(requireElement(root, "unsound"), outlook.problem ?? "");
    requireElement(root, "waits").hidden = outlook.waits === null;
    setText(requireElement(root, "waits"), outlook.waits ?? "");
    showProposals();
    if (outlook.optimizer) {
      setText(
        requireElement(root, "optimizer"),
        say.optimizer(outlook.optimizer.name, outlook.optimizer.learning_rate),
      );
    }
    const why = root.querySelector('[data-why="model.batch_size"]');
    if (why && outlook.batch_size) why.textContent = say.bundle(outlook.batch_size);
    const notes = outlook.supply && !outlook.supply.counted ? [say.guessed(outlook.supply.examples)] : [];
    showCosts(root, outlook.estimate, notes);
  }

  function differing(): readonly Proposal[] {
    return proposals.filter(({ key, value }) => !same(fields.task, key, value));
  }

  function showProposals(): void {
    const differ = differing();
    requireElement(root, "take-all").hidden = differ.length === 0;
    if (proposals.length > 0) {
      setText(requireElement(root, "taken"), differ.length > 0 ? say.proposed(differ.length) : say.taken);
    }
    const { owned } = frame.draft();
    for (const { key, value, reason } of proposals) {
      const own = differ.some((one) => one.key === key) && (owned === null || owned.includes(key));
      showProposal(root, key, value, own ? `${say.own} ${reason}` : reason, differ);
    }
    forget(root, proposals);
  }

  async function take(some: readonly Proposal[]): Promise<void> {
    const change = some.reduce<DraftTable>(
      (all, { key, value }) => joinChanges(all, changeOf(key, value)),
      {},
    );
    await fields.change(change);
  }
}

function counts(volunteers: HTMLInputElement, brought: HTMLInputElement | null): DraftTable {
  const count = (field: HTMLInputElement | null) =>
    field?.validity.valid && field.value !== "" ? Number(field.value) : null;
  return { volunteers: count(volunteers), examples: count(brought) };
}

function same(task: DraftTable, key: string, value: number | null): boolean {
  const field = document.querySelector<HTMLInputElement>(`[data-key="${key}"]`);
  const usual = field?.placeholder ? Number(field.placeholder) : null;
  return (valueAt(task, key) ?? usual) === value;
}

function showProposal(
  root: HTMLElement,
  key: string,
  value: number | null,
  reason: string,
  differ: readonly Proposal[],
): void {
  const why = root.querySelector<HTMLElement>(`[data-why="${key}"]`);
  const button = root.querySelector<HTMLElement>(`[data-take="${key}"]`);
  if (!why || !button) return;
  const other = differ.some((one) => one.key === key);
  // Only the one of epochs and steps that is set needs a reason.
  const needless = value === null && !other && (key === "training.epochs" || key === "training.steps");
  setText(why, needless ? "" : reason);
  button.hidden = !other;
  setText(button, say.take(value));
  const label = button.closest(".chosen")?.querySelector("label")?.textContent.trim() ?? key;
  button.setAttribute("aria-label", say.takeFor(value, label));
}

/** Removes the reasons that were proposed for another plan. */
function forget(root: HTMLElement, proposals: readonly Proposal[]): void {
  for (const button of root.querySelectorAll<HTMLElement>("[data-take]")) {
    const key = button.dataset.take;
    if (key === "model.batch_size" || proposals.some((one) => one.key === key)) continue;
    button.hidden = true;
    const why = root.querySelector<HTMLElement>(`[data-why="${key}"]`);
    if (why) setText(why, "");
  }
}

function showCosts(root: HTMLElement, costs: Costs | null, notes: readonly string[]): void {
  requireElement(root, "costs").hidden = costs === null;
  requireElement(root, "devices-shown").hidden = costs === null;
  sentences(requireElement(root, "notes"), [...(costs?.notes ?? []), ...(costs?.exactness ?? []), ...notes]);
  if (costs === null) return;
  const rows = costRows(costs);
  const list = requireElement(root, "costs");
  if (list.children.length !== rows.length) {
    list.replaceChildren(...rows.map(([name]) => node("div", "", "", node("dt", name), node("dd"))));
  }
  rows.forEach(([, text], index) => {
    const place = list.children[index]?.querySelector("dd");
    if (place) setText(place, text);
  });
  setChildren(requireElement(root, "devices"), []);
  requireElement(root, "devices").append(...deviceRows(costs).map((texts) => tableRow(...texts)));
}
