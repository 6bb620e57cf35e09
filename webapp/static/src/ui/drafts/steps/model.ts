/** The wizard's step `model`: chooses a file or an existing task, converts it, and shows the result. */

import { say } from "../../../i18n/texts/owners/model";
import { requestJson, showRefusal } from "../../lib/api";
import { requireElement, setText } from "../../lib/dom";
import type { DraftFrame } from "../frame";
import { bindJobView } from "../job-view";
import { type DraftRecord, type DraftTable, isTable, tableAt, type Value } from "../record";
import { bindStarters } from "../starters";
import { bindUpload } from "../upload/upload";

export function mount(frame: DraftFrame): void {
  bindUpload(frame, "model");
  bindStarters(frame);
  bindJobView(frame, "convert", ({ files }) => files.model !== undefined);
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-begin-with]")) {
    button.addEventListener("click", () => void beginWith(frame, button));
  }
  const show = (draft: DraftRecord) => {
    requireElement(document, "converted").hidden =
      draft.jobs.convert === undefined && draft.files.model === undefined;
    showFacts(draft);
  };
  frame.onChange(show);
  show(frame.draft());
}

async function beginWith(frame: DraftFrame, button: HTMLButtonElement): Promise<void> {
  if (frame.draft().files.model && !confirm(say.replace(button.dataset.title ?? ""))) return;
  await showRefusal(requireElement(document, "problem"), async () => {
    await requestJson("POST", `${frame.address}/model`, { task: button.dataset.beginWith });
    await frame.refresh();
  });
}

function showFacts({ model, devices }: DraftRecord): void {
  requireElement(document, "model-facts").hidden = model === null || devices === null;
  if (model === null || devices === null) return;
  const { trainable, state } = tableAt(devices, "parameters");
  const figures: [string, string][] = [
    [say.parameters, say.trained(count(trainable), count(trainable) + count(state))],
    [say.memory, say.size(count(tableAt(devices, "memory").peak))],
    [say.update, say.size(count(tableAt(devices, "wire").update_up))],
    [say.batch, say.number(model.batch_size)],
  ];
  requireElement(document, "model-figures").replaceChildren(
    ...figures.map(([name, value]) => tile(name, value)),
  );
  const losses = model.outputs.flatMap(({ loss }) => loss ?? []);
  const loss = losses.length > 0 ? say.loss(losses) : say.noLoss;
  const shapes = [model.inputs, model.outputs].map((ports) => ports.map(({ shape }) => shape));
  setText(requireElement(document, "model-takes"), say.takes(shapes[0] ?? [], shapes[1] ?? [], loss));
  const compared = model.checked === null ? [] : [say.checked(model.checked.worst)];
  requireElement(document, "model-comparison").replaceChildren(...[...compared, ...model.warnings].map(item));
  requireElement(document, "model-devices").replaceChildren(...deviceWords(devices).map(item));
}

/** Returns a sentence for backends with the same result, then for each kind of device its fastest backend. */
function deviceWords(devices: DraftTable): string[] {
  const alike = new Map<string, { names: string[]; eligible: string; reason: string }>();
  for (const { backend, eligible, reasons } of rows(devices.backends)) {
    const reason = Array.isArray(reasons) ? String(reasons[0] ?? "") : "";
    const group = alike.get(`${eligible} ${reason}`) ?? { names: [], eligible: String(eligible), reason };
    group.names.push(String(backend));
    alike.set(`${eligible} ${reason}`, group);
  }
  const backends = [...alike.values()].map(({ names, eligible, reason }) =>
    say.backends(names, eligible, reason),
  );
  const fastest = new Map<string, { backend: string; fast: number; slow: number }>();
  for (const { device, backend, range_ms } of rows(devices.step_times)) {
    if (!Array.isArray(range_ms)) continue;
    const [fast, slow] = range_ms.map(Number);
    if (fast === undefined || slow === undefined) continue;
    const best = fastest.get(String(device));
    if (!best || slow < best.slow) fastest.set(String(device), { backend: String(backend), fast, slow });
  }
  const steps = [...fastest].map(([device, { backend, fast, slow }]) =>
    say.step(device, backend, fast, slow),
  );
  return [...backends, ...steps];
}

function rows(value: Value | undefined): DraftTable[] {
  return Array.isArray(value) ? (value as readonly Value[]).filter(isTable) : [];
}

function count(value: Value | undefined): number {
  return typeof value === "number" ? value : 0;
}

function tile(name: string, value: string): HTMLElement {
  const box = document.createElement("div");
  const title = document.createElement("dt");
  const figure = document.createElement("dd");
  title.textContent = name;
  figure.textContent = value;
  box.append(title, figure);
  return box;
}

function item(text: string): HTMLElement {
  const line = document.createElement("li");
  line.textContent = text;
  return line;
}
