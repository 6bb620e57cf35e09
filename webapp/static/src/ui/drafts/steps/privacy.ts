/** The wizard's step `privacy`: options, the rules against some of them, and what others could currently learn. */

import { say } from "../../../i18n/texts/owners/privacy";
import { requireElement, setText } from "../../lib/dom";
import { FormFields } from "../fields";
import type { DraftFrame } from "../frame";
import { latestRequest } from "../latest-request";
import { node, sentences, tableRow } from "../nodes";
import type { PrivacyOption, PrivacyPreview } from "../plan/privacy-preview";
import { READERS } from "../plan/privacy-preview";
import { RobustChoice } from "../plan/robust-choice";
import { type DraftTable, isTable, tableAt } from "../record";

export function mount(frame: DraftFrame): void {
  const root = requireElement(document, "draft");
  const epsilonField = requireElement<HTMLInputElement>(root, "wanted");
  let patches = new Map<string, DraftTable>();
  let epsilon: number | null = null;
  let before: ReadonlySet<string> | null = null;

  const question = latestRequest<PrivacyPreview>(
    `${frame.address}/privacy`,
    () => ({ task: fields.task, epsilon, clients: robust.clients }),
    show,
    (why) => setText(requireElement(root, "unsound"), why),
  );
  const fields = new FormFields(root, frame, () => {
    showWhen(root, fields.task);
    ask();
  });
  const robust = new RobustChoice(root, ask);
  root.addEventListener("change", ({ target }) => {
    const option = target instanceof HTMLElement ? target.closest<HTMLElement>("[data-option]") : null;
    const patch = patches.get(option?.dataset.option ?? "");
    if (patch) void fields.change(patch);
  });
  requireElement(root, "find").addEventListener("click", () => {
    epsilon = epsilonField.validity.valid && epsilonField.value !== "" ? Number(epsilonField.value) : null;
    ask();
  });
  showWhen(root, fields.task);
  ask();

  function ask(): void {
    if (tableAt(fields.task, "privacy").mechanism !== undefined)
      setText(requireElement(root, "worth"), say.asking);
    question();
  }

  function show(preview: PrivacyPreview): void {
    robust.show(preview.robust ?? null);
    const options = [...preview.options, ...(preview.robust?.options ?? [])];
    patches = new Map(options.map((one) => [`${one.part} ${one.key}`, one.patch]));
    showOptions(root, options);
    setText(requireElement(root, "unsound"), preview.problem ?? "");
    if (showNoise(root, preview, epsilon) && preview.needed !== null) {
      epsilon = null;
      // Rounded up, because slightly less noise would be too little.
      void fields.change({ privacy: { noise_multiplier: upwards(preview.needed) } });
    }
    root.classList.toggle("refused-now", preview.disclosure === null);
    if (preview.disclosure === null) return;
    const shown = READERS.flatMap((reader) => preview.disclosure?.[reader] ?? []);
    const news = shown.filter((text) => before !== null && !before.has(text));
    for (const reader of READERS) showReader(root, reader, preview.disclosure[reader], news);
    setText(requireElement(root, "told"), news.length > 0 ? say.news(news.length) : "");
    before = new Set(shown);
  }
}

function showOptions(root: HTMLElement, options: readonly PrivacyOption[]): void {
  for (const one of options) {
    const place = root.querySelector<HTMLElement>(`[data-option="${one.part} ${one.key}"]`);
    const input = place?.querySelector("input");
    if (!place || !input) continue;
    input.checked = one.chosen;
    input.disabled = one.refused !== null && !one.chosen;
    const [changes, refused] = [requireElement(place, "changes"), requireElement(place, "refused")];
    changes.hidden = one.chosen || one.refused !== null || one.changes.length === 0;
    setText(changes, changes.hidden ? "" : say.changes(one.changes));
    refused.hidden = one.refused === null;
    setText(refused, one.refused === null ? "" : say.refused(plain(one.refused)));
  }
}

/** Shows the result of the search for noise; returns whether it was found. */
function showNoise(root: HTMLElement, preview: PrivacyPreview, epsilon: number | null): boolean {
  const line = requireElement(root, "worth");
  const isNeeded = epsilon !== null && preview.needed !== null;
  if (isNeeded && preview.needed !== null) setText(line, say.needed(upwards(preview.needed), epsilon));
  else if (epsilon !== null && preview.needed === null) setText(line, say.notFound);
  else setText(line, preview.waits ?? (preview.guarantee ? say.worth(preview.guarantee.sentence) : ""));
  requireElement(root, "curve-shown").hidden = preview.curve.length === 0;
  requireElement(root, "curve").replaceChildren(
    ...preview.curve.map(([rounds, value]) => tableRow(`${rounds}`, `${Number(value.toPrecision(3))}`)),
  );
  sentences(requireElement(root, "assumptions"), preview.guarantee?.assumptions ?? []);
  return isNeeded;
}

function showReader(
  root: HTMLElement,
  reader: string,
  texts: readonly string[],
  news: readonly string[],
): void {
  const list = root.querySelector(`[data-reader="${reader}"]`);
  list?.replaceChildren(
    ...texts.map((text) => (news.includes(text) ? node("li", "", "", node("mark", text)) : node("li", text))),
  );
}

/** Shows the parts of an option only with it. */
function showWhen(root: HTMLElement, task: DraftTable): void {
  const { aggregation: ways, robust } = tableAt(task, "security");
  const scheme = tableAt(task, "coordination").scheme;
  const holds: Readonly<Record<string, boolean>> = {
    masked: Array.isArray(ways) && ways.includes("masked") && scheme !== "decentralized",
    noise: tableAt(task, "privacy").mechanism !== undefined,
    robust: isTable(robust),
    federated: scheme !== "decentralized",
    decentralized: scheme === "decentralized",
  };
  for (const place of root.querySelectorAll<HTMLElement>("[data-when]")) {
    place.hidden = holds[place.dataset.when ?? ""] !== true;
  }
}

/** Removes the rule's references to files, as there is only one. */
function plain(sentence: string): string {
  return sentence.replace(/^task\.toml: /, "").replace(/ See docs\/reference\/task-file\.md\.$/, "");
}

function upwards(value: number): number {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 3);
  return Number((Math.ceil(value / unit) * unit).toPrecision(4));
}
