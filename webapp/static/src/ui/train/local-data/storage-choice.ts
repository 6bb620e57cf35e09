/**
 * The option to keep one's files until the next session: a checkbox, the stored files, and a button that deletes
 * them.
 */

import type { OwnFile } from "../../../core/messages/data-reader";
import { say } from "../../../i18n";
import { requireElement, setText } from "../../lib/dom";
import { toast } from "../../lib/toast";
import { deleteFiles, storedFiles, storeFiles } from "./file-storage";

export interface StorageChoice {
  /** Returns the files stored in an earlier session. */
  storedFiles(): Promise<OwnFile[]>;
  /** Stores the newly chosen files, if the option is set. */
  changed(): Promise<void>;
}

/** Binds the option; `files` returns the chosen files. Nothing is stored before the box is ticked. */
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
