/** The training settings in the converted model: batch, optimizer and loss; after a change it is converted again. */

import { say } from "../../../i18n/texts/owners/plan";
import { requireElement, setText } from "../../lib/dom";
import type { FormFields } from "../fields";
import type { DraftFrame } from "../frame";
import { isLive, isTable, tableAt, type Value } from "../record";

export function mountModelTraining(root: HTMLElement, frame: DraftFrame, fields: FormFields): void {
  const fold = requireElement(root, "learns");
  const loss = requireElement<HTMLSelectElement>(fold, "loss");
  const logits = requireElement<HTMLInputElement>(fold, "logits");
  const button = requireElement<HTMLButtonElement>(fold, "convert");
  const converting = requireElement(fold, "converting");

  const chosen = () => {
    const name = loss.value;
    logits.disabled = name === "" || !name.includes("crossentropy");
    const table: Value =
      name === "" ? null : { name, from_logits: logits.checked && !logits.disabled ? true : null };
    void fields.change({ model: { loss: null } }).then(() => fields.change({ model: { loss: table } }));
  };
  loss.addEventListener("change", chosen);
  logits.addEventListener("change", chosen);
  button.addEventListener("click", () => {
    button.hidden = true;
    frame.work("convert", {
      line: (text) => setText(converting, text),
      done: (job) => setText(converting, job.state === "done" ? say.converted : (job.log.at(-1)?.text ?? "")),
      refused: (why) => setText(converting, why),
    });
  });
  frame.onChange(show);
  show();

  function show(): void {
    const model = tableAt(fields.task, "model");
    const several = Array.isArray(model.objectives);
    requireElement(fold, "objectives").hidden = !several;
    requireElement(fold, "single-loss").hidden = several;
    const current = model.loss ?? null;
    const name = isTable(current) ? current.name : current;
    if (typeof name === "string" && ![...loss.options].some(({ value }) => value === name)) {
      loss.add(new Option(name, name));
    }
    if (document.activeElement !== loss) loss.value = typeof name === "string" ? name : "";
    logits.checked = isTable(current) && current.from_logits === true;
    logits.disabled = loss.value === "" || !loss.value.includes("crossentropy");
    const { jobs, checklist } = frame.draft();
    const outdated = checklist.some(({ key, state }) => key === "convert" && state === "todo");
    button.hidden = !(outdated && jobs.convert !== undefined && !isLive(jobs.convert));
    if (!button.hidden) setText(converting, say.convert);
  }
}
