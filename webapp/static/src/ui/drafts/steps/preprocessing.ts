/** The wizard's step `preprocess`: the findings, the preprocessing, the model's input, and sharding. */

import { say } from "../../../i18n/texts/owners/preprocess";
import { requireElement, setText } from "../../lib/dom";
import { bindCancelButton } from "../cancel-button";
import { columnRows } from "../data/columns";
import { exampleNodes } from "../data/example-preview";
import { type DataFindings, resultOf, type ShownFindings } from "../data/findings";
import { choicesOf } from "../data/preprocessing-choices";
import { mountSharding } from "../data/sharding";
import { warnings } from "../data/warnings";
import { FormFields } from "../fields";
import type { DraftFrame } from "../frame";
import { node, sentences } from "../nodes";
import { type DraftTable, isLive, isTable, tableAt } from "../record";

const PAUSE_MS = 600;

export function mount(frame: DraftFrame): void {
  const root = requireElement(document, "draft");
  const fields = new FormFields(root, frame, () => {
    showChoices();
    showSoon();
  });
  const places = root.querySelector("[data-preview]") !== null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** The settings of the preview that is requested or shown. */
  let shownOf = "";
  let busy = false;

  const showCancel = places ? bindCancelButton(requireElement(root, "seen-cancel")) : () => undefined;
  if (places) mountSharding(requireElement(root, "cutting"), frame);
  follow();
  show();

  /** Follows the inspection, which may still run when this step is opened. */
  function follow(): void {
    if (!isLive(frame.draft().jobs.look)) return;
    frame.follow("look", { line: (text) => setText(requireElement(root, "waits"), text), done: show });
  }

  function show(): void {
    const findings = resultOf<DataFindings>(frame.draft(), "look");
    const own = !places;
    requireElement(root, "waits").hidden = findings !== null || own;
    const looking = isLive(frame.draft().jobs.look);
    setText(
      requireElement(root, "waits"),
      findings !== null || own ? "" : looking ? say.looking : say.noData,
    );
    requireElement(root, "found").hidden = findings === null || own;
    if (findings !== null) showFound(root, findings);
    showChoices();
    showSoon();
  }

  function showChoices(): void {
    const preprocess = tableAt(fields.task, "data", "preprocess");
    const findings = resultOf<DataFindings>(frame.draft(), "look");
    requireElement(root, "how").hidden = preprocess.kind === undefined;
    const takes = frame.draft().model?.inputs[0]?.shape;
    setText(requireElement(root, "takes"), takes ? say.takes(takes) : "");
    const save = (change: DraftTable) => void fields.change({ data: { preprocess: change } });
    const host = requireElement(root, "choices");
    // Fields with the focus are being edited, and are not replaced.
    if (!host.contains(document.activeElement)) {
      host.replaceChildren(...choicesOf(preprocess, findings?.arrays.map(({ name }) => name) ?? [], save));
    }
    requireElement(root, "columns-shown").hidden = preprocess.kind !== "table" || !findings;
    const body = requireElement(root, "columns");
    const focused = document.activeElement?.getAttribute("aria-label");
    if (preprocess.kind === "table" && findings) {
      body.replaceChildren(...columnRows(preprocess, findings.columns, save));
      if (focused) body.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
    }
  }

  function showSoon(): void {
    if (!places) return;
    clearTimeout(timer);
    timer = setTimeout(showNow, PAUSE_MS);
  }

  /** Requests a new preview of examples if the settings differ from those shown. */
  function showNow(): void {
    const draft = frame.draft();
    const { preprocess, holdout = null } = tableAt(fields.task, "data");
    if (!draft.files.data || !isTable(preprocess) || busy) return;
    const converted = draft.checklist.some(({ key, state }) => key === "convert" && state === "done");
    const of = JSON.stringify([draft.files.data.sha256, preprocess, holdout, converted]);
    if (of === shownOf) return;
    shownOf = of;
    busy = true;
    requireElement(root, "seen").hidden = false;
    setText(requireElement(root, "seen-state"), say.showing);
    const over = (text: string) => {
      busy = false;
      showCancel(null);
      setText(requireElement(root, "seen-state"), text);
      // The settings changed meanwhile: a new preview is requested.
      showSoon();
    };
    const listener = {
      line: (text: string) => setText(requireElement(root, "seen-state"), text),
      done: () => {
        const shown = resultOf<ShownFindings>(frame.draft(), "show");
        if (shown) showSeen(root, shown, frame);
        over(shown ? say.shown : (frame.draft().jobs.show?.log.at(-1)?.text ?? ""));
      },
      refused: over,
    };
    if (isLive(draft.jobs.show)) {
      // The job was started by a page that was left, perhaps with other settings.
      shownOf = "";
      const work = frame.follow("show", listener);
      showCancel({
        cancel() {
          // A cancelled preview is not requested again before the settings change.
          shownOf = of;
          return work.cancel();
        },
      });
    } else showCancel(frame.work("show", listener));
  }
}

function showFound(root: HTMLElement, findings: DataFindings): void {
  const classes = Object.entries(findings.classes);
  setText(requireElement(root, "found-line"), say.found(findings.kind, findings.examples, classes.length));
  sentences(requireElement(root, "found-notes"), [...warnings(findings), ...findings.notes]);
  requireElement(root, "balance-shown").hidden = classes.length === 0;
  const largestCount = Math.max(...classes.map(([, count]) => count), 1);
  requireElement(root, "balance").replaceChildren(
    ...classes.map(([name, count]) => {
      const bar = node("span", "", "bar");
      bar.style.inlineSize = `${(100 * count) / largestCount}%`;
      bar.setAttribute("aria-hidden", "true");
      return node(
        "li",
        "",
        "",
        node("span", name, "name"),
        node("span", "", "track", bar),
        node("span", say.share(count, findings.examples), "count"),
      );
    }),
  );
}

function showSeen(root: HTMLElement, shown: ShownFindings, frame: DraftFrame): void {
  const { spread } = shown;
  const numbers = spread ? ([spread.least, spread.mean, spread.most] as const) : null;
  setText(
    requireElement(root, "seen-line"),
    say.goesIn(
      shown.inputs.map(({ shape }) => shape),
      numbers,
    ),
  );
  setText(requireElement(root, "misfit"), shown.misfit ?? "");
  sentences(requireElement(root, "broken"), shown.broken);
  const asked = frame.draft().jobs.show?.asked ?? 0;
  requireElement(root, "preview").replaceChildren(...exampleNodes(shown, frame.address, `${asked}`));
}
