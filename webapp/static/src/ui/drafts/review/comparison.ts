/** Compares a draft with another draft or task, key by key. */

import { say } from "../../../i18n/texts/owners/review";
import { requestJson, showRefusal } from "../../lib/api";
import { requireElement, setText } from "../../lib/dom";
import type { DraftFrame } from "../frame";

interface ShownChange {
  readonly key: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly text: string;
}

const SHOWN_CHARACTERS = 200;

export function bindComparison(frame: DraftFrame): void {
  const choice = requireElement<HTMLSelectElement>(document, "compare-with");
  const problem = requireElement(document, "compare-problem");
  void showRefusal(problem, async () => choice.append(...(await choices(frame.id))));
  choice.addEventListener("change", () => {
    void showRefusal(problem, async () => {
      await frame.flush();
      const changes =
        choice.value === ""
          ? null
          : ((await requestJson(
              "GET",
              `/api/differences?before=${encodeURIComponent(choice.value)}&after=draft:${frame.id}`,
            )) as { changes: readonly ShownChange[] });
      show(changes?.changes ?? null);
    });
  });
}

/** Returns the drafts and tasks of the signed-in person. */
async function choices(id: string): Promise<HTMLOptionElement[]> {
  const [{ drafts }, { account }] = (await Promise.all([
    requestJson("GET", "/api/drafts"),
    requestJson("GET", "/api/account"),
  ])) as [
    { drafts: readonly { id: string; name: string; title: string }[] },
    { account: { roles: Readonly<Record<string, string>> } | null },
  ];
  return [
    ...drafts
      .filter((one) => one.id !== id)
      .map((one) => new Option(say.draft(String(one.title), String(one.name)), `draft:${one.id}`)),
    ...Object.keys(account?.roles ?? {}).map((name) => new Option(say.task(name), `task:${name}`)),
  ];
}

function show(changes: readonly ShownChange[] | null): void {
  setText(requireElement(document, "compare-words"), changes === null ? "" : say.differences(changes.length));
  requireElement(document, "compare-table").hidden = changes === null || changes.length === 0;
  requireElement(document, "compare-rows").replaceChildren(...(changes ?? []).map(row));
}

function row({ key, before, after, text }: ShownChange): HTMLTableRowElement {
  const result = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.append(key);
  result.append(head);
  for (const value of [text, shown(before), shown(after)]) result.insertCell().append(value);
  return result;
}

function shown(value: unknown): string {
  if (value === null) return "–";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
