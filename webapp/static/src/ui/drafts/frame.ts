/** What every step of the wizard works with: the draft as the server has it, saving, and work that takes long. */

import { say } from "../../i18n/owners/frame";
import { ask, Refusal } from "../lib/api";
import { part, write } from "../lib/dom";
import { type Change, Saver, type Sign } from "./autosave";
import { begin, follow, type Heard, type Work } from "./jobs";
import { type DraftRecord, isLive, type JobKind, merged } from "./record";

const AGAIN_MS = 2500;
const AFTERWARDS_MS = 15_000;

export interface Frame {
  readonly id: string;
  /** Where the draft's API is: `/api/drafts/ID`. */
  readonly address: string;
  /** The draft as the server told it last. */
  draft(): DraftRecord;
  /** Saves a change soon, together with others; settled once it is saved or refused, which the page says. */
  save(change: Change): Promise<void>;
  /** Saves what waits at once. */
  flush(): Promise<void>;
  /** Asks the server for the draft as it is now. */
  refresh(): Promise<void>;
  /** Calls with the draft whenever it came anew. */
  onChange(call: (draft: DraftRecord) => void): void;
  /** Whether the draft is left alone: no more is asked about one that becomes a task. */
  leave(left: boolean): void;
  /** Has a job begun and follows it. */
  work(kind: JobKind, heard: Heard): Work;
  /** Follows a job that was begun before, from the line that follows the first `after`. */
  follow(kind: JobKind, heard: Heard, after?: number): Work;
}

/** The frame around the step of this page, with the draft as it is now. */
export async function frameOf(root: HTMLElement): Promise<Frame> {
  const id = root.dataset.draft ?? "";
  const address = `/api/drafts/${id}`;
  let left = false;
  const callers: ((draft: DraftRecord) => void)[] = [];
  let draft = (await ask("GET", address)) as DraftRecord;
  // Who fills a draft in here waits for nothing that could be done meanwhile.
  if (!draft.onward) draft = (await ask("PATCH", address, { onward: true })) as DraftRecord;

  function came(news: DraftRecord): void {
    if (JSON.stringify(news) === JSON.stringify(draft)) return;
    draft = news;
    showSteps(root, draft);
    for (const call of callers) call(draft);
  }
  async function refresh(): Promise<void> {
    came((await ask("GET", address)) as DraftRecord);
  }
  const saver = new Saver(
    async ({ task, readme }) => {
      // Looking at the data writes into the task file, too, and so do other windows: the newest one is changed.
      const newest = (await ask("GET", address)) as DraftRecord;
      const body = {
        ...(task ? { task: merged(newest.task, task) } : {}),
        ...(readme === undefined ? {} : { readme }),
      };
      came((await ask("PATCH", address, body)) as DraftRecord);
    },
    (sign) => showSign(root, sign, () => draft),
  );
  const over = (heard: Heard): Heard => ({
    ...heard,
    done: async (job) => {
      await refresh();
      await heard.done(job);
    },
  });

  showSteps(root, draft);
  keepFromLeaving(root, saver);
  lookAgain(
    () => draft,
    async () => {
      // What is being written here is newer than what the server has.
      if (!saver.unsaved && !left) await refresh();
    },
  );
  return {
    id,
    address,
    draft: () => draft,
    save: (change) => saver.save(change),
    flush: () => saver.flush(),
    refresh,
    leave: (now) => {
      left = now;
    },
    onChange: (call) => void callers.push(call),
    work: (kind, heard) => begin(address, kind, over(heard), () => saver.flush()),
    follow: (kind, heard, after = 0) => follow(address, kind, over(heard), after),
  };
}

function showSteps(root: HTMLElement, draft: DraftRecord): void {
  write(part(root, "draft-standing"), draft.standing);
  for (const { name, state } of draft.steps) {
    const item = root.querySelector<HTMLElement>(`[data-step="${name}"]`);
    if (!item) continue;
    item.dataset.state = state;
    write(part(item, "step-state"), say.states[state]);
  }
  const title = draft.task.title ?? draft.task.name;
  if (typeof title === "string" && title !== "") write(part(root, "draft-title"), title);
}

/** Work begins by itself, one after the other: while some is under way, or was a moment ago, the draft is asked for anew. */
function lookAgain(draft: () => DraftRecord, refresh: () => Promise<void>): void {
  let until = Date.now() + AFTERWARDS_MS;
  setInterval(() => {
    if (Object.values(draft().jobs).some(isLive)) until = Date.now() + AFTERWARDS_MS;
    if (document.visibilityState !== "visible" || Date.now() > until) return;
    // A server that is away is asked again the next time.
    refresh().catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
    });
  }, AGAIN_MS);
}

function showSign(root: HTMLElement, sign: Sign, draft: () => DraftRecord): void {
  const place = part(root, "saved");
  // It is saved, though it may not be sound: that is said where it was written.
  const unsound =
    sign.state === "saved"
      ? draft().checklist.find(({ key, state }) => key === "task" && state === "failed")
      : undefined;
  place.dataset.state = unsound ? "unsound" : sign.state;
  write(place, unsound ? say.savedBut(unsound.text) : signWords(sign));
}

function signWords(sign: Sign): string {
  switch (sign.state) {
    case "saving":
      return say.saving;
    case "saved":
      return say.saved;
    case "away":
      return say.later;
    case "failed":
      return say.notSaved(sign.why);
  }
}

/** What is not saved yet is saved before the next page comes, or its loss is asked about. */
function keepFromLeaving(root: HTMLElement, saver: Saver): void {
  addEventListener("beforeunload", (event) => {
    if (saver.unsaved) event.preventDefault();
  });
  root.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!link || !plain || link.target !== "" || !saver.unsaved) return;
    event.preventDefault();
    void saver.flush().then(() => location.assign(link.href));
  });
}
