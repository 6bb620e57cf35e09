/** What is part of the converted model: batch, optimizer and loss; a change has it converted once more. */

import { say } from "../../../i18n/owners/plan";
import { part, write } from "../../lib/dom";
import type { Fields } from "../fields";
import type { Frame } from "../frame";
import { isLive, isTable, tableAt, type Value } from "../record";

export function mountLearning(root: HTMLElement, frame: Frame, fields: Fields): void {
  const fold = part(root, "learns");
  const loss = part<HTMLSelectElement>(fold, "loss");
  const logits = part<HTMLInputElement>(fold, "logits");
  const button = part<HTMLButtonElement>(fold, "convert");
  const told = part(fold, "converting");

  const chosen = () => {
    const name = loss.value;
    logits.disabled = name === "" || !name.includes("crossentropy");
    const said: Value =
      name === "" ? null : { name, from_logits: logits.checked && !logits.disabled ? true : null };
    void fields.change({ model: { loss: null } }).then(() => fields.change({ model: { loss: said } }));
  };
  loss.addEventListener("change", chosen);
  logits.addEventListener("change", chosen);
  button.addEventListener("click", () => {
    button.hidden = true;
    frame.work("convert", {
      line: (text) => write(told, text),
      done: (job) => write(told, job.state === "done" ? say.converted : (job.log.at(-1)?.text ?? "")),
      refused: (why) => write(told, why),
    });
  });
  frame.onChange(show);
  show();

  function show(): void {
    const said = tableAt(fields.task, "model").loss ?? null;
    const name = isTable(said) ? said.name : said;
    if (typeof name === "string" && ![...loss.options].some(({ value }) => value === name)) {
      loss.add(new Option(name, name));
    }
    if (document.activeElement !== loss) loss.value = typeof name === "string" ? name : "";
    logits.checked = isTable(said) && said.from_logits === true;
    logits.disabled = loss.value === "" || !loss.value.includes("crossentropy");
    const { jobs, checklist } = frame.draft();
    const outdated = checklist.some(({ key, state }) => key === "convert" && state === "todo");
    button.hidden = !(outdated && jobs.convert !== undefined && !isLive(jobs.convert));
    if (!button.hidden) write(told, say.convert);
  }
}
