/** Menus of a version's files: the list is fetched when a menu is opened, and a file is made on request. */

import { say } from "../../i18n";
import { fetchJson } from "../lib/responses";

interface VersionFile {
  readonly format: string;
  readonly title: string;
  readonly sha256: string | null;
  readonly bytes: number | null;
}

const AGAIN_MS = 2000;

/** Turns `<details data-files="3" data-task="digits">` in `root`, also later ones, into menus. */
export function bindFiles(root: HTMLElement): void {
  // `toggle` does not bubble, so it is captured.
  root.addEventListener(
    "toggle",
    ({ target }) => {
      const menu = target instanceof HTMLDetailsElement ? target : null;
      if (menu?.open && menu.dataset.files !== undefined) void fill(menu);
    },
    true,
  );
}

/** Creates a menu that is filled when it is opened. */
export function filesMenu(task: string, version: number): HTMLDetailsElement {
  const menu = document.createElement("details");
  const summary = document.createElement("summary");
  menu.className = "fold files";
  menu.dataset.files = String(version);
  menu.dataset.task = task;
  summary.textContent = say.files.menu;
  summary.setAttribute("aria-label", say.files.of(version));
  menu.append(summary);
  return menu;
}

async function fill(menu: HTMLDetailsElement): Promise<void> {
  const { task = "", files: version = "" } = menu.dataset;
  const address = `/api/tasks/${task}/versions/${version}`;
  const answer = await fetchJson<{ files: readonly VersionFile[] }>(address);
  const list = document.createElement("ul");
  list.className = "facts downloads";
  if (answer !== null) {
    list.append(...answer.files.map((file) => item(menu, `${address}/${file.format}`, file)), card(address));
  } else {
    list.append(entry(document.createTextNode(say.files.away)));
  }
  menu.querySelector("ul")?.remove();
  menu.append(list);
}

function item(menu: HTMLDetailsElement, address: string, file: VersionFile): HTMLElement {
  const link = document.createElement("a");
  link.href = address;
  link.rel = "nofollow";
  link.textContent = file.title;
  const state = document.createElement("small");
  state.setAttribute("role", "status");
  const made = file.sha256 !== null && file.bytes !== null;
  state.textContent = made ? say.files.made(file.bytes ?? 0, file.sha256 ?? "") : say.files.unmade;
  if (file.sha256 !== null) state.title = say.files.whole(file.sha256);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    void take(menu, address, state);
  });
  return entry(link, " ", state);
}

function card(address: string): HTMLElement {
  const link = document.createElement("a");
  link.href = `${address}/card`;
  link.download = "";
  link.textContent = say.files.card;
  return entry(link);
}

function entry(...content: (Node | string)[]): HTMLElement {
  const made = document.createElement("li");
  made.append(...content);
  return made;
}

async function take(menu: HTMLDetailsElement, address: string, state: HTMLElement): Promise<void> {
  if (await saveWhenReady(address, state)) await fill(menu);
}

/** Polls the file at `address` until it is made, then lets the browser save it; returns whether that succeeded. */
export async function saveWhenReady(address: string, state: HTMLElement): Promise<boolean> {
  const began = performance.now();
  for (;;) {
    state.textContent = say.files.making((performance.now() - began) / 1000);
    // One byte shows that the file is ready; the browser downloads the rest.
    const response = await fetch(address, {
      headers: { range: "bytes=0-0", accept: "application/json" },
    }).catch(() => null);
    if (response?.status === 202) {
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      continue;
    }
    if (!response?.ok) {
      state.textContent = (await reason(response)) ?? say.files.away;
      return false;
    }
    // A streamed answer has no ranges: the browser requests it again.
    await response.body?.cancel();
    save(address);
    state.textContent = "";
    return true;
  }
}

/** Starts a download instead of a navigation, for which a training page would ask for confirmation. */
function save(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}

async function reason(response: Response | null): Promise<string | null> {
  const answer = (await response?.json().catch(() => null)) as { error?: { message?: string } } | null;
  return answer?.error?.message ?? null;
}
