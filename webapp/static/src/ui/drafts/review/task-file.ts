/** The task file as text: checked while it is typed, with errors by line, and saved as a whole. */

import { say } from "../../../i18n/texts/owners/review";
import { Refusal, showRefusal } from "../../lib/api";
import { requireElement } from "../../lib/dom";
import type { DraftFrame } from "../frame";

const CHECK_MS = 500;

interface TaskFileFault {
  readonly line: number | null;
  readonly text: string;
}

export function bindTaskFile(frame: DraftFrame): void {
  const details = requireElement<HTMLDetailsElement>(document, "task-file");
  const text = requireElement<HTMLTextAreaElement>(details, "toml");
  const problem = requireElement(details, "toml-problem");
  const faults = requireElement(details, "faults");
  let timer = 0;
  let newest = 0;
  let written = false;

  const read = () =>
    showRefusal(problem, async () => {
      await frame.flush();
      text.value = await (await send("GET", `${frame.address}/task.toml`)).text();
      written = false;
      faults.replaceChildren();
    });
  const check = () =>
    showRefusal(problem, async () => {
      newest += 1;
      const number = newest;
      const answer = await send("POST", `${frame.address}/task.toml/check`, text.value);
      const { problems } = (await answer.json()) as { problems: readonly TaskFileFault[] };
      if (number === newest) faults.replaceChildren(...problems.map((fault) => shown(fault, text)));
    });

  details.addEventListener("toggle", () => {
    if (details.open && !written) void read();
  });
  text.addEventListener("input", () => {
    written = true;
    clearTimeout(timer);
    timer = window.setTimeout(() => void check(), CHECK_MS);
  });
  requireElement(details, "toml-save").addEventListener("click", () => {
    void showRefusal(problem, async () => {
      await frame.flush();
      await send("PUT", `${frame.address}/task.toml`, text.value);
      await frame.refresh();
      await read();
      await check();
    });
  });
}

/** Shows an error; pressing its line number, if known, moves the caret there. */
function shown({ line, text }: TaskFileFault, area: HTMLTextAreaElement): HTMLLIElement {
  const result = document.createElement("li");
  if (line !== null) {
    const place = document.createElement("button");
    place.type = "button";
    place.className = "button quiet";
    place.append(say.line(line));
    place.addEventListener("click", () => {
      const precedingLines = area.value.split("\n").slice(0, line - 1);
      const start = precedingLines.reduce((sum, one) => sum + one.length + 1, 0);
      const end = area.value.indexOf("\n", start);
      area.focus();
      area.setSelectionRange(start, end < 0 ? area.value.length : end);
    });
    result.append(place, " ");
  }
  result.append(text);
  return result;
}

async function send(method: "GET" | "POST" | "PUT", address: string, text?: string): Promise<Response> {
  const headers = { accept: "application/json, application/toml", "content-type": "application/toml" };
  const response = await fetch(address, { method, headers, body: text ?? null }).catch(() => null);
  if (response?.ok) return response;
  const answer = (await response?.json().catch(() => null)) as { error?: { message?: string } } | null;
  throw new Refusal(answer?.error?.message ?? say.silent);
}
