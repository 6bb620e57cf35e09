/** Creates drafts from existing files: an exported draft, a task file, or a running task. */

import { say } from "../../i18n/texts/owners/import";
import { Refusal, requestJson } from "../lib/api";
import { requireElement, setText } from "../lib/dom";
import { onSubmit } from "../lib/forms";

export function bindImports(problem: HTMLElement): void {
  const form = requireElement<HTMLFormElement>(document, "bring-form");
  onSubmit(form, problem, async (data) => {
    const status = requireElement(form, "bring-status");
    setText(status, say.importing);
    try {
      open(await bring(data.get("file") as File));
    } finally {
      setText(status, "");
    }
  });
  const renewal = document.querySelector<HTMLFormElement>("[data-renew-form]");
  if (renewal) bindRenewal(renewal, problem);
}

function bindRenewal(form: HTMLFormElement, problem: HTMLElement): void {
  const task = requireElement<HTMLSelectElement>(form, "renew-task");
  const name = requireElement<HTMLInputElement>(form, "renew-name");
  const propose = () => {
    name.value = nextName(task.value);
  };
  // A task's dashboard links to this page with the task's name.
  const asked = new URLSearchParams(location.search).get("renew");
  if ([...task.options].some(({ value }) => value === asked)) task.value = asked ?? "";
  task.addEventListener("change", propose);
  propose();
  onSubmit(form, problem, async (data) => {
    const asked = { name: data.get("name"), onward: true };
    open(await requestJson("POST", `/api/tasks/${encodeURIComponent(task.value)}/clone`, asked));
  });
}

/** Returns the next free name: `cats-2` after `cats`, `cats-3` after `cats-2`. */
export function nextName(name: string): string {
  const [, stem = name, number = "1"] = /^(.*)-(\d{1,6})$/.exec(name) ?? [];
  return `${stem}-${Number(number) + 1}`;
}

async function bring(file: File): Promise<unknown> {
  const kind = file.name.toLowerCase().endsWith(".toml") ? "application/toml" : "application/zip";
  const headers = { accept: "application/json", "content-type": kind };
  const response = await fetch("/api/drafts/import?onward=1", { method: "PUT", headers, body: file }).catch(
    () => null,
  );
  const answer: unknown = await response?.json().catch(() => null);
  if (response?.ok) return answer;
  throw new Refusal((answer as { error?: { message?: string } } | null)?.error?.message ?? say.silent);
}

function open(draft: unknown): void {
  location.assign(`/drafts/${(draft as { id: string }).id}`);
}
