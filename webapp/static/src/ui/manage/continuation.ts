/** The forms by which an owner trains more, starts over, or makes another task from a version. */

import { manage } from "../../i18n/texts/owners/dashboard/manage";
import { requestJson, showRefusal } from "../lib/api";
import { requireElement, setText } from "../lib/dom";
import { numberOf, onSubmit } from "../lib/forms";

const AGAIN_MS = 2000;

interface Extended {
  readonly applied: boolean;
  readonly rounds: number;
}

/** Binds the part of the page for those who may change the task, if it is there. */
export function bindContinuation(page: HTMLElement, task: string): void {
  const form = page.querySelector<HTMLFormElement>("[data-extend-form]");
  if (!form) return;
  const address = `/api/tasks/${encodeURIComponent(task)}`;
  const problem = requireElement(page, "extend-problem");
  const state = requireElement(page, "extend-state");
  const newest = Number(form.dataset.newest);

  async function extend(asked: Readonly<Record<string, unknown>>): Promise<void> {
    const answer = (await requestJson("POST", `${address}/extend`, asked)) as Extended;
    setText(state, answer.applied ? manage.extended(answer.rounds) : manage.extendedLater(answer.rounds));
  }
  onSubmit(form, problem, async (data) => {
    const version = numberOf(data, "version") ?? newest;
    if (version !== newest && !confirm(manage.questionBack(version, newest - version))) return;
    await extend({ ...plan(form, data), ...(version === newest ? {} : { version }) });
  });
  requireElement(page, "start-over").addEventListener("click", () => {
    if (!confirm(manage.questionStartOver(newest))) return;
    void showRefusal(problem, () => extend({ ...plan(form, new FormData(form)), version: 0 }));
  });
  bindFork(page, address);
}

/** Returns the rounds, and what differs from the plan that the page was rendered with. */
export function plan(form: HTMLFormElement, data: FormData): Readonly<Record<string, unknown>> {
  const asked: Record<string, unknown> = { rounds: numberOf(data, "rounds") };
  for (const name of ["deadline", "learning_rate"]) {
    const input = form.querySelector<HTMLInputElement>(`[name="${name}"]`);
    if (input && input.value !== "" && input.value !== input.defaultValue) asked[name] = Number(input.value);
  }
  if (isChanged(requireElement(form, "stop"))) asked.stop = stopRules(data);
  return asked;
}

function isChanged(fields: HTMLElement): boolean {
  const inputs = [...fields.querySelectorAll("input")];
  const options = [...fields.querySelectorAll("option")];
  const target = fields.querySelector<HTMLInputElement>("[name=target]");
  const metric = options.some(({ selected, defaultSelected }) => selected !== defaultSelected);
  return inputs.some(({ value, defaultValue }) => value !== defaultValue) || (metric && target?.value !== "");
}

function stopRules(data: FormData): Readonly<Record<string, unknown>> {
  const value = numberOf(data, "target");
  const rules = {
    target: value === null ? null : { metric: data.get("metric"), value },
    patience: numberOf(data, "patience"),
    seconds: numberOf(data, "seconds"),
  };
  return Object.fromEntries(Object.entries(rules).filter(([, rule]) => rule !== null));
}

function bindFork(page: HTMLElement, address: string): void {
  const form = requireElement<HTMLFormElement>(page, "fork-form");
  const state = requireElement(page, "fork-state");
  onSubmit(form, requireElement(page, "fork-problem"), async (data) => {
    const asked = { name: data.get("name"), version: numberOf(data, "version") };
    setText(state, manage.forking);
    try {
      let draft = await requestJson("POST", `${address}/clone`, asked);
      while (!isDraft(draft)) {
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        draft = await requestJson("POST", `${address}/clone`, asked);
      }
      location.assign(`/drafts/${draft.id}`);
    } finally {
      setText(state, "");
    }
  });
}

function isDraft(answer: unknown): answer is { readonly id: string } {
  return typeof answer === "object" && answer !== null && "id" in answer;
}
