/** The wizard's step `privacy`: choices, the rules against some of them, and what others could learn, as it is now. */

import { say } from "../../../i18n/owners/privacy";
import { part, write } from "../../lib/dom";
import { Fields } from "../fields";
import type { Frame } from "../frame";
import { asker } from "../latest-request";
import { node, sentences, tableRow } from "../nodes";
import type { Told } from "../plan/privacy-preview";
import { READERS } from "../plan/privacy-preview";
import { type Table, tableAt } from "../record";

export function mount(frame: Frame): void {
  const root = part(document, "draft");
  const wanted = part<HTMLInputElement>(root, "wanted");
  let patches = new Map<string, Table>();
  let epsilon: number | null = null;
  let before: ReadonlySet<string> | null = null;

  const question = asker<Told>(
    `${frame.address}/privacy`,
    () => ({ task: fields.task, epsilon }),
    show,
    (why) => write(part(root, "unsound"), why),
  );
  const fields = new Fields(root, frame, () => {
    showWhen(root, fields.task);
    ask();
  });
  for (const option of root.querySelectorAll<HTMLElement>("[data-option]")) {
    option.querySelector("input")?.addEventListener("change", () => {
      const patch = patches.get(option.dataset.option ?? "");
      if (patch) void fields.change(patch);
    });
  }
  part(root, "find").addEventListener("click", () => {
    epsilon = wanted.validity.valid && wanted.value !== "" ? Number(wanted.value) : null;
    ask();
  });
  showWhen(root, fields.task);
  ask();

  function ask(): void {
    if (tableAt(fields.task, "privacy").mechanism !== undefined) write(part(root, "worth"), say.asking);
    question();
  }

  function show(told: Told): void {
    patches = new Map(told.options.map((one) => [`${one.part} ${one.key}`, one.patch]));
    showOptions(root, told);
    write(part(root, "unsound"), told.problem ?? "");
    if (showNoise(root, told, epsilon) && told.needed !== null) {
      epsilon = null;
      // Upwards: a little less noise would be too little.
      void fields.change({ privacy: { noise_multiplier: upwards(told.needed) } });
    }
    root.classList.toggle("refused-now", told.disclosure === null);
    if (told.disclosure === null) return;
    const shown = READERS.flatMap((reader) => told.disclosure?.[reader] ?? []);
    const news = shown.filter((text) => before !== null && !before.has(text));
    for (const reader of READERS) showReader(root, reader, told.disclosure[reader], news);
    write(part(root, "told"), news.length > 0 ? say.news(news.length) : "");
    before = new Set(shown);
  }
}

function showOptions(root: HTMLElement, { options }: Told): void {
  for (const one of options) {
    const place = root.querySelector<HTMLElement>(`[data-option="${one.part} ${one.key}"]`);
    const input = place?.querySelector("input");
    if (!place || !input) continue;
    input.checked = one.chosen;
    input.disabled = one.refused !== null && !one.chosen;
    const [changes, refused] = [part(place, "changes"), part(place, "refused")];
    changes.hidden = one.chosen || one.refused !== null || one.changes.length === 0;
    write(changes, changes.hidden ? "" : say.changes(one.changes));
    refused.hidden = one.refused === null;
    write(refused, one.refused === null ? "" : say.refused(plain(one.refused)));
  }
}

/** Whether the noise that was asked for was found. */
function showNoise(root: HTMLElement, told: Told, epsilon: number | null): boolean {
  const line = part(root, "worth");
  const found = epsilon !== null && told.needed !== null;
  if (found && told.needed !== null) write(line, say.needed(upwards(told.needed), epsilon));
  else if (epsilon !== null && told.needed === null) write(line, say.notFound);
  else write(line, told.waits ?? (told.guarantee ? say.worth(told.guarantee.sentence) : ""));
  part(root, "curve-shown").hidden = told.curve.length === 0;
  part(root, "curve").replaceChildren(
    ...told.curve.map(([rounds, value]) => tableRow(`${rounds}`, `${Number(value.toPrecision(3))}`)),
  );
  sentences(part(root, "assumptions"), told.guarantee?.assumptions ?? []);
  return found;
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

/** What belongs to a choice is shown with it alone. */
function showWhen(root: HTMLElement, task: Table): void {
  const ways = tableAt(task, "security").aggregation;
  const scheme = tableAt(task, "coordination").scheme;
  const holds: Readonly<Record<string, boolean>> = {
    masked: Array.isArray(ways) && ways.includes("masked") && scheme !== "decentralized",
    noise: tableAt(task, "privacy").mechanism !== undefined,
    federated: scheme !== "decentralized",
    decentralized: scheme === "decentralized",
  };
  for (const place of root.querySelectorAll<HTMLElement>("[data-when]")) {
    place.hidden = holds[place.dataset.when ?? ""] !== true;
  }
}

/** Rules speak of files; here there is only the one. */
function plain(sentence: string): string {
  return sentence.replace(/^task\.toml: /, "").replace(/ See docs\/reference\/task-file\.md\.$/, "");
}

function upwards(value: number): number {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 3);
  return Number((Math.ceil(value / unit) * unit).toPrecision(4));
}
