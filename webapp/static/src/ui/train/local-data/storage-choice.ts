/** The choice to find one's files again on the next visit: a tick, what is kept, and a button that deletes it. */

import type { OwnFile } from "../../../core/messages/data-reader";
import { say } from "../../../i18n";
import { part, write } from "../../lib/dom";
import { toast } from "../../lib/toast";
import { forgetFiles, keepFiles, keptFiles } from "./file-storage";

export interface Keeping {
  /** What an earlier visit kept. */
  found(): Promise<OwnFile[]>;
  /** Other files are chosen now. */
  changed(): Promise<void>;
}

/** `files` are those chosen now. Nothing is kept before the box is ticked. */
export function bindKeeping(section: HTMLElement, task: string, files: () => readonly OwnFile[]): Keeping {
  const box = part<HTMLInputElement>(section, "own-keep");
  const kept = part(section, "own-kept");

  function tell(count: number, problem: string | null = null): void {
    const keeps = say.own.kept(count);
    write(part(section, "own-kept-line"), problem ?? keeps);
    kept.hidden = count === 0 && problem === null;
    part(section, "own-forget").hidden = count === 0;
  }

  async function keep(): Promise<void> {
    try {
      await keepFiles(task, files());
      tell(files().length);
    } catch {
      box.checked = false;
      await forget();
      tell(0, say.own.noRoom);
    }
  }

  async function forget(): Promise<void> {
    box.checked = false;
    await forgetFiles(task).catch(() => undefined);
    tell(0);
  }

  box.addEventListener("change", () => void (box.checked ? keep() : forget()));
  part(section, "own-forget").addEventListener("click", async () => {
    await forget();
    toast(say.own.forgotten);
  });
  return {
    async found() {
      const there = await keptFiles(task);
      box.checked = there.length > 0;
      tell(there.length);
      return there;
    },
    async changed() {
      if (box.checked) await keep();
    },
  };
}
