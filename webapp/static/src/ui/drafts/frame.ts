/** What every step of the wizard works with: the draft as the server has it, saving, and work that takes long. */

import { say } from "../../i18n/owners/frame";
import { Refusal, requestJson } from "../lib/api";
import { requireElement, setText } from "../lib/dom";
import { Autosave, type DraftChange, type SaveState } from "./autosave";
import { begin, follow, type JobListener, type JobWork } from "./jobs";
import { type DraftRecord, isLive, type JobKind, merged } from "./record";

const AGAIN_MS = 2500;
const AFTERWARDS_MS = 15_000;

export interface DraftFrame {
  readonly id: string;
  /** Where the draft's API is: `/api/drafts/ID`. */
  readonly address: string;
  /** The draft as the server told it last. */
  draft(): DraftRecord;
  /** Saves a change soon, together with others; settled once it is saved or refused, which the page says. */
  save(change: DraftChange): Promise<void>;
  /** Saves what waits at once. */
  flush(): Promise<void>;
  /** Asks the server for the draft as it is now. */
  refresh(): Promise<void>;
  /** Calls with the draft whenever it came anew. */
  onChange(call: (draft: DraftRecord) => void): void;
  /** Whether the draft is left alone: no more is asked about one that becomes a task. */
  leave(left: boolean): void;
  /** Has a job begun and follows it. */
  work(kind: JobKind, listener: JobListener): JobWork;
  /** Follows a job that was begun before, from the line that follows the first `after`. */
  follow(kind: JobKind, listener: JobListener, after?: number): JobWork;
}

/** The frame around the step of this page, with the draft as it is now. */
export async function frameOf(root: HTMLElement): Promise<DraftFrame> {
  const id = root.dataset.draft ?? "";
  const address = `/api/drafts/${id}`;
  let left = false;
  const callers: ((draft: DraftRecord) => void)[] = [];
  let draft = (await requestJson("GET", address)) as DraftRecord;
  // Who fills a draft in here waits for nothing that could be done meanwhile.
  if (!draft.onward) draft = (await requestJson("PATCH", address, { onward: true })) as DraftRecord;

  function came(news: DraftRecord): void {
    if (JSON.stringify(news) === JSON.stringify(draft)) return;
    draft = news;
    showSteps(root, draft);
    for (const call of callers) call(draft);
  }
  async function refresh(): Promise<void> {
    came((await requestJson("GET", address)) as DraftRecord);
  }
  const saver = new Autosave(
    async ({ task, readme }) => {
      // Looking at the data writes into the task file, too, and so do other windows: the newest one is changed.
      const newest = (await requestJson("GET", address)) as DraftRecord;
      const body = {
        ...(task ? { task: merged(newest.task, task) } : {}),
        ...(readme === undefined ? {} : { readme }),
      };
      came((await requestJson("PATCH", address, body)) as DraftRecord);
    },
    (sign) => showSaveState(root, sign, () => draft),
  );
  const over = (listener: JobListener): JobListener => ({
    ...listener,
    done: async (job) => {
      await refresh();
      await listener.done(job);
    },
  });

  showSteps(root, draft);
  keepFromLeaving(root, saver);
  reload(
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
    work: (kind, listener) => begin(address, kind, over(listener), () => saver.flush()),
    follow: (kind, listener, after = 0) => follow(address, kind, over(listener), after),
  };
}

function showSteps(root: HTMLElement, draft: DraftRecord): void {
  setText(requireElement(root, "draft-standing"), draft.standing);
  for (const { name, state } of draft.steps) {
    const item = root.querySelector<HTMLElement>(`[data-step="${name}"]`);
    if (!item) continue;
    item.dataset.state = state;
    setText(requireElement(item, "step-state"), say.states[state]);
  }
  const title = draft.task.title ?? draft.task.name;
  if (typeof title === "string" && title !== "") setText(requireElement(root, "draft-title"), title);
}

/** Work begins by itself, one after the other: while some is under way, or was a moment ago, the draft is asked for anew. */
function reload(draft: () => DraftRecord, refresh: () => Promise<void>): void {
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

function showSaveState(root: HTMLElement, sign: SaveState, draft: () => DraftRecord): void {
  const place = requireElement(root, "saved");
  // It is saved, though it may not be sound: that is said where it was written.
  const unsound =
    sign.state === "saved"
      ? draft().checklist.find(({ key, state }) => key === "task" && state === "failed")
      : undefined;
  place.dataset.state = unsound ? "unsound" : sign.state;
  setText(place, unsound ? say.savedBut(unsound.text) : saveStateWords(sign));
}

function saveStateWords(sign: SaveState): string {
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
function keepFromLeaving(root: HTMLElement, saver: Autosave): void {
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
