/** The wizard's step `plan`: values, the reason for each, and what they cost as one types. */

import { say } from "../../../i18n/owners/plan";
import { arrange, part, write } from "../../lib/dom";
import { changeOf, Fields, valueAt } from "../fields";
import type { Frame } from "../frame";
import { asker } from "../latest-request";
import { node, sentences, tableRow } from "../nodes";
import { type Costs, costRows, deviceRows, type Outlook, type Proposal } from "../plan/cost-preview";
import { mountLearning } from "../plan/model-training";
import { ofUnits, schemeChange, showScheme, USUAL_RECIPE } from "../plan/scheme";
import { joined, type Table, tableAt } from "../record";

// Settings of a recipe stand beside its name, and not without it.
const RECIPE = "coordination.units.assimilation";

export function mount(frame: Frame): void {
  const root = part(document, "draft");
  const volunteers = part<HTMLInputElement>(root, "volunteers");
  const brought = root.querySelector<HTMLInputElement>("[data-examples]");
  let proposals: readonly Proposal[] = [];
  let took = false;
  // Another scheme was chosen, and the values that fit it are not known yet.
  let switched = false;
  // What the owner wrote while the proposals were being made stays.
  const written = new Set<string>();

  const question = asker<Outlook>(
    `${frame.address}/estimate`,
    () => ({ task: fields.task, ...counts(volunteers, brought) }),
    show,
    (why) => write(part(root, "unsound"), why),
  );
  const fields = new Fields(root, frame, () => {
    showScheme(root, fields.task);
    showProposals();
    question();
  });
  for (const field of [volunteers, brought]) field?.addEventListener("input", question);
  // Visits and steps are two ways to say one thing.
  root.addEventListener("input", (event) => {
    const key = event.target instanceof HTMLInputElement ? event.target.dataset.key : undefined;
    if (key !== undefined) written.add(key);
    if (key === "coordination.scheme") {
      switched = true;
      void fields.change(schemeChange(fields.task, (event.target as HTMLInputElement).value));
    }
    if (key?.startsWith(RECIPE) && tableAt(fields.task, ...RECIPE.split(".")).name === undefined)
      void fields.change(changeOf(`${RECIPE}.name`, USUAL_RECIPE));
    if (event.target instanceof HTMLInputElement && event.target.value === "") return;
    if (key === "training.epochs") void fields.change(changeOf("training.steps", null));
    if (key === "training.steps") void fields.change(changeOf("training.epochs", null));
  });
  part(root, "take-all").addEventListener("click", () => void take(differing()));
  for (const button of root.querySelectorAll<HTMLElement>("[data-take]")) {
    button.addEventListener(
      "click",
      () => void take(proposals.filter(({ key }) => key === button.dataset.take)),
    );
  }
  mountLearning(root, frame, fields);
  showScheme(root, fields.task);
  question();

  function show(outlook: Outlook): void {
    proposals = outlook.proposals;
    write(part(root, "unsound"), outlook.problem ?? "");
    part(root, "waits").hidden = outlook.waits === null;
    write(part(root, "waits"), outlook.waits ?? "");
    const begun = switched ? ofUnits(fields.task) === proposesUnits(proposals) : outlook.fresh && !took;
    if (begun && proposals.length > 0) {
      took = true;
      switched = false;
      void take(differing().filter(({ key }) => !written.has(key)));
      return;
    }
    showProposals();
    if (outlook.optimizer) {
      write(part(root, "optimizer"), say.optimizer(outlook.optimizer.name, outlook.optimizer.learning_rate));
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
    part(root, "take-all").hidden = differ.length === 0;
    if (proposals.length > 0) {
      write(
        part(root, "taken"),
        differ.length > 0 ? say.proposed(differ.length) : took ? say.taken : say.fits,
      );
    }
    for (const { key, value, reason } of proposals) showProposal(root, key, value, reason, differ);
    forget(root, proposals);
  }

  async function take(some: readonly Proposal[]): Promise<void> {
    const change = some.reduce<Table>((all, { key, value }) => joined(all, changeOf(key, value)), {});
    await fields.change(change);
  }
}

function proposesUnits(proposals: readonly Proposal[]): boolean {
  return proposals.some(({ key }) => key.startsWith("coordination.units."));
}

function counts(volunteers: HTMLInputElement, brought: HTMLInputElement | null): Table {
  const count = (field: HTMLInputElement | null) =>
    field?.validity.valid && field.value !== "" ? Number(field.value) : null;
  return { volunteers: count(volunteers), examples: count(brought) };
}

function same(task: Table, key: string, value: number | null): boolean {
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
  // Of visits and steps only the one that counts needs a reason.
  const needless = value === null && !other && (key === "training.epochs" || key === "training.steps");
  write(why, needless ? "" : reason);
  button.hidden = !other;
  write(button, say.take(value));
  const label = button.closest(".chosen")?.querySelector("label")?.textContent.trim() ?? key;
  button.setAttribute("aria-label", say.takeFor(value, label));
}

/** What was proposed for another plan is said no longer. */
function forget(root: HTMLElement, proposals: readonly Proposal[]): void {
  for (const button of root.querySelectorAll<HTMLElement>("[data-take]")) {
    const key = button.dataset.take;
    if (key === "model.batch_size" || proposals.some((one) => one.key === key)) continue;
    button.hidden = true;
    const why = root.querySelector<HTMLElement>(`[data-why="${key}"]`);
    if (why) write(why, "");
  }
}

function showCosts(root: HTMLElement, costs: Costs | null, notes: readonly string[]): void {
  part(root, "costs").hidden = costs === null;
  part(root, "devices-shown").hidden = costs === null;
  sentences(part(root, "notes"), [...(costs?.notes ?? []), ...notes]);
  if (costs === null) return;
  const rows = costRows(costs);
  const list = part(root, "costs");
  if (list.children.length !== rows.length) {
    list.replaceChildren(...rows.map(([name]) => node("div", "", "", node("dt", name), node("dd"))));
  }
  rows.forEach(([, text], index) => {
    const place = list.children[index]?.querySelector("dd");
    if (place) write(place, text);
  });
  arrange(part(root, "devices"), []);
  part(root, "devices").append(...deviceRows(costs).map((texts) => tableRow(...texts)));
}
