/** The frame of every wizard step: the draft as the server has it, saving, and jobs. */

import { say } from "../../i18n/texts/owners/frame";
import { Refusal, requestJson } from "../lib/api";
import { requireElement, setText } from "../lib/dom";
import { Autosave, type DraftChange, type SaveState } from "./autosave";
import { begin, follow, type JobListener, type JobWork } from "./jobs";
import { type DraftRecord, isLive, type JobKind, mergeTables } from "./record";

const AGAIN_MS = 2500;
const AFTERWARDS_MS = 15_000;

export interface DraftFrame {
  readonly id: string;
  /** The address of the draft's API: `/api/drafts/ID`. */
  readonly address: string;
  /** Returns the draft as the server last sent it. */
  draft(): DraftRecord;
  /** Saves a change soon, together with others; resolves once it is saved or refused, which the page shows. */
  save(change: DraftChange): Promise<void>;
  /** Saves the waiting changes immediately. */
  flush(): Promise<void>;
  /** Fetches the current draft from the server. */
  refresh(): Promise<void>;
  /** Calls with the draft whenever it has changed. */
  onChange(call: (draft: DraftRecord) => void): void;
  /** Sets whether refreshing stops, for a draft that becomes a task. */
  leave(left: boolean): void;
  /** Starts a job and follows it. */
  work(kind: JobKind, listener: JobListener): JobWork;
  /** Follows a job that was started before, skipping the first `after` lines of its log. */
  follow(kind: JobKind, listener: JobListener, after?: number): JobWork;
}

/** Makes the frame around the step of this page, with the current draft. */
export async function frameOf(root: HTMLElement): Promise<DraftFrame> {
  const id = root.dataset.draft ?? "";
  const address = `/api/drafts/${id}`;
  let left = false;
  const callers: ((draft: DraftRecord) => void)[] = [];
  let draft = (await requestJson("GET", address)) as DraftRecord;
  // While the draft is edited in the wizard, the server starts the next jobs automatically.
  if (!draft.onward) draft = (await requestJson("PATCH", address, { onward: true })) as DraftRecord;

  function update(news: DraftRecord): void {
    if (JSON.stringify(news) === JSON.stringify(draft)) return;
    draft = news;
    showSteps(root, draft);
    for (const call of callers) call(draft);
  }
  async function refresh(): Promise<void> {
    update((await requestJson("GET", address)) as DraftRecord);
  }
  const saver = new Autosave(
    async ({ task, readme }) => {
      // Data inspection and other windows change the task file, too: the change is applied to the newest one.
      const newest = (await requestJson("GET", address)) as DraftRecord;
      const body = {
        ...(task ? { task: mergeTables(newest.task, task) } : {}),
        ...(readme === undefined ? {} : { readme }),
      };
      update((await requestJson("PATCH", address, body)) as DraftRecord);
    },
    (sign) => showSaveState(root, sign, () => draft),
  );
  const refreshFirst = (listener: JobListener): JobListener => ({
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
      // Unsaved values are newer than those of the server.
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
    work: (kind, listener) => begin(address, kind, refreshFirst(listener), () => saver.flush()),
    follow: (kind, listener, after = 0) => follow(address, kind, refreshFirst(listener), after),
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

/** Refreshes the draft while a job runs or ended a moment ago, because jobs start each other. */
function reload(draft: () => DraftRecord, refresh: () => Promise<void>): void {
  let until = Date.now() + AFTERWARDS_MS;
  setInterval(() => {
    if (Object.values(draft().jobs).some(isLive)) until = Date.now() + AFTERWARDS_MS;
    if (document.visibilityState !== "visible" || Date.now() > until) return;
    // If the server is away, the next interval tries again.
    refresh().catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
    });
  }, AGAIN_MS);
}

function showSaveState(root: HTMLElement, sign: SaveState, draft: () => DraftRecord): void {
  const place = requireElement(root, "saved");
  // It is saved, but may have errors, which are shown with the state.
  const unsound =
    sign.state === "saved"
      ? draft().checklist.find(({ key, state }) => key === "task" && state === "failed")
      : undefined;
  place.dataset.state = unsound ? "unsound" : sign.state;
  setText(place, unsound ? say.savedBut(unsound.text) : saveStateWords(sign));
}

/** Says whether the changes are saved. */
export function saveStateWords(sign: SaveState): string {
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

/** Saves unsaved changes before a link is followed, or lets the browser ask about their loss. */
export function keepFromLeaving(root: HTMLElement, saver: Autosave): void {
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
