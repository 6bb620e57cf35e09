/** The choice to find one's files again on the next visit: a tick, what is kept, and a button that deletes it. */

import type { OwnFile } from "../../../core/messages/data-reader";
import { say } from "../../../i18n";
import { requireElement, setText } from "../../lib/dom";
import { toast } from "../../lib/toast";
import { deleteFiles, storedFiles, storeFiles } from "./file-storage";

export interface StorageChoice {
  /** What an earlier visit kept. */
  storedFiles(): Promise<OwnFile[]>;
  /** Other files are chosen now. */
  changed(): Promise<void>;
}

/** `files` are those chosen now. Nothing is kept before the box is ticked. */
export function bindStorageChoice(
  section: HTMLElement,
  task: string,
  files: () => readonly OwnFile[],
): StorageChoice {
  const box = requireElement<HTMLInputElement>(section, "own-keep");
  const storedLine = requireElement(section, "own-kept");

  function tell(count: number, problem: string | null = null): void {
    const keeps = say.own.kept(count);
    setText(requireElement(section, "own-kept-line"), problem ?? keeps);
    storedLine.hidden = count === 0 && problem === null;
    requireElement(section, "own-forget").hidden = count === 0;
  }

  async function keep(): Promise<void> {
    try {
      await storeFiles(task, files());
      tell(files().length);
    } catch {
      box.checked = false;
      await forget();
      tell(0, say.own.noRoom);
    }
  }

  async function forget(): Promise<void> {
    box.checked = false;
    await deleteFiles(task).catch(() => undefined);
    tell(0);
  }

  box.addEventListener("change", () => void (box.checked ? keep() : forget()));
  requireElement(section, "own-forget").addEventListener("click", async () => {
    await forget();
    toast(say.own.forgotten);
  });
  return {
    async storedFiles() {
      const there = await storedFiles(task);
      box.checked = there.length > 0;
      tell(there.length);
      return there;
    },
    async changed() {
      if (box.checked) await keep();
    },
  };
}
