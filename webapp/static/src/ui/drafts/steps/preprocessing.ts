/** The wizard's step `preprocess`: what was found, how it is prepared, what the model gets, and the cut. */

import { say } from "../../../i18n/owners/preprocess";
import { part, write } from "../../lib/dom";
import { columnRows } from "../data/columns";
import { seenNodes } from "../data/example-preview";
import { type Findings, resultOf, type Shown } from "../data/findings";
import { choicesOf } from "../data/preprocessing-choices";
import { mountCut } from "../data/sharding";
import { warnings } from "../data/warnings";
import { Fields } from "../fields";
import type { Frame } from "../frame";
import { node, sentences } from "../nodes";
import { isLive, isTable, type Table, tableAt } from "../record";

const PAUSE_MS = 600;

export function mount(frame: Frame): void {
  const root = part(document, "draft");
  const fields = new Fields(root, frame, () => {
    showChoices();
    showSoon();
  });
  const places = root.querySelector("[data-preview]") !== null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** What is being shown, or was shown last. */
  let shownOf = "";
  let busy = false;

  if (places) mountCut(part(root, "cutting"), frame);
  follow();
  show();

  /** The look may still be under way when this step is opened. */
  function follow(): void {
    if (!isLive(frame.draft().jobs.look)) return;
    frame.follow("look", { line: (text) => write(part(root, "waits"), text), done: show });
  }

  function show(): void {
    const found = resultOf<Findings>(frame.draft(), "look");
    const own = !places;
    part(root, "waits").hidden = found !== null || own;
    const looking = isLive(frame.draft().jobs.look);
    write(part(root, "waits"), found !== null || own ? "" : looking ? say.looking : say.noData);
    part(root, "found").hidden = found === null || own;
    if (found !== null) showFound(root, found);
    showChoices();
    showSoon();
  }

  function showChoices(): void {
    const preprocess = tableAt(fields.task, "data", "preprocess");
    const found = resultOf<Findings>(frame.draft(), "look");
    part(root, "how").hidden = preprocess.kind === undefined;
    const takes = frame.draft().model?.inputs[0]?.shape;
    write(part(root, "takes"), takes ? say.takes(takes) : "");
    const save = (change: Table) => void fields.change({ data: { preprocess: change } });
    const host = part(root, "choices");
    // What is being written in is not replaced under the hand.
    if (!host.contains(document.activeElement)) {
      host.replaceChildren(...choicesOf(preprocess, found?.arrays.map(({ name }) => name) ?? [], save));
    }
    part(root, "columns-shown").hidden = preprocess.kind !== "table" || !found;
    const body = part(root, "columns");
    const focused = document.activeElement?.getAttribute("aria-label");
    if (preprocess.kind === "table" && found) {
      body.replaceChildren(...columnRows(preprocess, found.columns, save));
      if (focused) body.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
    }
  }

  function showSoon(): void {
    if (!places) return;
    clearTimeout(timer);
    timer = setTimeout(showNow, PAUSE_MS);
  }

  /** Has some examples prepared anew where they would be others than those that are shown. */
  function showNow(): void {
    const draft = frame.draft();
    const { preprocess, holdout = null } = tableAt(fields.task, "data");
    if (!draft.files.data || !isTable(preprocess) || busy) return;
    const converted = draft.checklist.some(({ key, state }) => key === "convert" && state === "done");
    const of = JSON.stringify([draft.files.data.sha256, preprocess, holdout, converted]);
    if (of === shownOf) return;
    shownOf = of;
    busy = true;
    part(root, "seen").hidden = false;
    write(part(root, "seen-state"), say.showing);
    const over = (text: string) => {
      busy = false;
      write(part(root, "seen-state"), text);
      // Changed meanwhile: once more.
      showSoon();
    };
    const heard = {
      line: (text: string) => write(part(root, "seen-state"), text),
      done: () => {
        const shown = resultOf<Shown>(frame.draft(), "show");
        if (shown) showSeen(root, shown, frame);
        over(shown ? say.shown : (frame.draft().jobs.show?.log.at(-1)?.text ?? ""));
      },
      refused: over,
    };
    if (isLive(draft.jobs.show)) {
      // Of a page that was left: what it makes may be of other choices.
      shownOf = "";
      frame.follow("show", heard);
    } else frame.work("show", heard);
  }
}

function showFound(root: HTMLElement, found: Findings): void {
  const classes = Object.entries(found.classes);
  write(part(root, "found-line"), say.found(found.kind, found.examples, classes.length));
  sentences(part(root, "found-notes"), [...warnings(found), ...found.notes]);
  part(root, "balance-shown").hidden = classes.length === 0;
  const most = Math.max(...classes.map(([, count]) => count), 1);
  part(root, "balance").replaceChildren(
    ...classes.map(([name, count]) => {
      const bar = node("span", "", "bar");
      bar.style.inlineSize = `${(100 * count) / most}%`;
      bar.setAttribute("aria-hidden", "true");
      return node(
        "li",
        "",
        "",
        node("span", name, "name"),
        node("span", "", "track", bar),
        node("span", say.share(count, found.examples), "count"),
      );
    }),
  );
}

function showSeen(root: HTMLElement, shown: Shown, frame: Frame): void {
  const { spread } = shown;
  const numbers = spread ? ([spread.least, spread.mean, spread.most] as const) : null;
  write(
    part(root, "seen-line"),
    say.goesIn(
      shown.inputs.map(({ shape }) => shape),
      numbers,
    ),
  );
  write(part(root, "misfit"), shown.misfit ?? "");
  sentences(part(root, "broken"), shown.broken);
  const asked = frame.draft().jobs.show?.asked ?? 0;
  part(root, "preview").replaceChildren(...seenNodes(shown, frame.address, `${asked}`));
}
