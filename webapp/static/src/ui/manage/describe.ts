/** Completes the description of a task in a private test, and launches it for everybody. */

import { Autosave } from "../drafts/autosave";
import { bindDescription } from "../drafts/description";
import { keepFromLeaving, saveStateWords } from "../drafts/frame";
import { bindPicture } from "../drafts/picture";
import { type ChecklistItem, type DraftTable, mergeTables } from "../drafts/record";
import { requestJson, showRefusal } from "../lib/api";
import { requireElement, setText } from "../lib/dom";

/** The answer of `GET /api/tasks/{name}/description` (docs/reference/http.md). */
interface Described {
  readonly task: DraftTable;
  readonly data: DraftTable;
  readonly checklist: readonly Omit<ChecklistItem, "step" | "for_test">[];
}

/** Binds the form; a task that is launched has none. */
export async function bindDescribe(root: HTMLElement): Promise<void> {
  const body = root.querySelector<HTMLElement>("[data-step-body]");
  if (!body) return;
  const name = root.dataset.describe ?? "";
  const address = `/api/tasks/${name}/description`;
  const calls: (() => void)[] = [];
  const read = async () => (await requestJson("GET", address)) as Described;
  let described = await read();
  const saver = new Autosave(
    async ({ task, readme }) => {
      // Another window may have changed it, too: the change is applied to the newest one.
      const newest = await read();
      const change = {
        ...(task ? { task: mergeTables(newest.task, task) } : {}),
        ...(readme === undefined ? {} : { readme }),
      };
      described = (await requestJson("PATCH", address, change)) as Described;
      for (const call of calls) call();
    },
    (sign) => {
      const saved = requireElement(root, "saved");
      saved.dataset.state = sign.state;
      setText(saved, saveStateWords(sign));
    },
  );
  bindDescription({
    address,
    draft: () => ({
      id: name,
      task: { ...described.task, data: described.data },
      checklist: described.checklist.map((item) => ({ ...item, step: "about", for_test: true })),
    }),
    save: (change) => saver.save(change),
    onChange: (call) => void calls.push(call),
  });
  keepFromLeaving(root, saver);
  body.inert = false;
  const picture = bindPicture(requireElement(root, "picture"));
  bindLaunch(requireElement<HTMLButtonElement>(root, "launch"), name, async () => {
    await saver.flush();
    await picture();
  });
}

function bindLaunch(button: HTMLButtonElement, name: string, saved: () => Promise<void>): void {
  button.disabled = false;
  button.addEventListener("click", () => {
    void showRefusal(requireElement(document, "problem"), async () => {
      await saved();
      await requestJson("POST", `/api/tasks/${name}/orders`, { order: "launch" });
      location.assign(`/tasks/${name}/manage`);
    });
  });
}
