/** The task file as text: checked while one types, told by line what is wrong, and saved as a whole. */

import { say } from "../../../i18n/owners/review";
import { Refusal, trying } from "../../lib/api";
import { part } from "../../lib/dom";
import type { Frame } from "../frame";

const CHECK_MS = 500;

interface Fault {
  readonly line: number | null;
  readonly text: string;
}

export function bindTaskFile(frame: Frame): void {
  const details = part<HTMLDetailsElement>(document, "task-file");
  const text = part<HTMLTextAreaElement>(details, "toml");
  const problem = part(details, "toml-problem");
  const faults = part(details, "faults");
  let timer = 0;
  let newest = 0;
  let written = false;

  const read = () =>
    trying(problem, async () => {
      await frame.flush();
      text.value = await (await send("GET", `${frame.address}/task.toml`)).text();
      written = false;
      faults.replaceChildren();
    });
  const check = () =>
    trying(problem, async () => {
      newest += 1;
      const number = newest;
      const answer = await send("POST", `${frame.address}/task.toml/check`, text.value);
      const { problems } = (await answer.json()) as { problems: readonly Fault[] };
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
  part(details, "toml-save").addEventListener("click", () => {
    void trying(problem, async () => {
      await frame.flush();
      await send("PUT", `${frame.address}/task.toml`, text.value);
      await frame.refresh();
      await read();
      await check();
    });
  });
}

/** Where a line is known, pressing its number puts the caret there. */
function shown({ line, text }: Fault, area: HTMLTextAreaElement): HTMLLIElement {
  const result = document.createElement("li");
  if (line !== null) {
    const place = document.createElement("button");
    place.type = "button";
    place.className = "button quiet";
    place.append(say.line(line));
    place.addEventListener("click", () => {
      const before = area.value.split("\n").slice(0, line - 1);
      const start = before.reduce((sum, one) => sum + one.length + 1, 0);
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
