/** The panel of a volunteer's devices: links this one by a secret key, and adds up what all of them did. */

import {
  isDevicesKey,
  makeDevicesKey,
  storeDevicesKey,
  storedDevicesKey,
} from "../../client/session/devices-key";
import { say } from "../../i18n";
import { participantName } from "../../i18n/texts/volunteers/participant-names";
import { requestJson, showRefusal } from "../lib/api";
import { requireElement, setText } from "../lib/dom";
import { toast } from "../lib/toast";
import { contributionOf, idOf } from "./earlier-visits";

const ADDRESS = "/api/devices";

interface Linked {
  readonly name: string;
  readonly devices: readonly { readonly client: string; readonly name: string }[];
}

/** Binds the panel. The key is stored in this browser, and sent in bodies of requests only. */
export function bindDevices(root: HTMLElement, task: string, token: string): void {
  const panel = root.querySelector<HTMLDetailsElement>("[data-devices]");
  if (!panel) return;
  const problem = requireElement(panel, "devices-problem");
  const input = requireElement<HTMLInputElement>(panel, "devices-key");

  async function show(): Promise<void> {
    const key = storedDevicesKey();
    requireElement(root, "devices-apart").hidden = key !== null;
    requireElement(root, "devices-linked").hidden = key === null;
    if (key !== null) await link(key);
  }

  async function link(key: string): Promise<void> {
    const linked = (await requestJson("PUT", ADDRESS, { key, token })) as Linked;
    setText(requireElement(root, "devices-known"), say.devices.known(linked.name));
    const rows = await describe(linked, task, await idOf(token));
    requireElement(root, "devices-list").replaceChildren(...rows.map(item));
  }

  async function begin(key: string): Promise<void> {
    // The key is kept only after the server took it.
    await requestJson("PUT", ADDRESS, { key, token });
    storeDevicesKey(key);
    input.value = "";
    await show();
  }

  panel.addEventListener("toggle", () => {
    if (panel.open) void showRefusal(problem, show);
  });
  requireElement(panel, "devices-begin").addEventListener("click", () => {
    void showRefusal(problem, () => begin(makeDevicesKey()));
  });
  requireElement(panel, "devices-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const key = input.value.trim();
    if (isDevicesKey(key)) void showRefusal(problem, () => begin(key));
    else problem.textContent = say.devices.noKey;
  });
  requireElement(panel, "devices-copy").addEventListener("click", () => void copyKey());
  requireElement(panel, "devices-end").addEventListener("click", () => {
    void showRefusal(problem, async () => {
      await requestJson("DELETE", ADDRESS, { token });
      storeDevicesKey(null);
      await show();
    });
  });
}

async function copyKey(): Promise<void> {
  try {
    await navigator.clipboard.writeText(storedDevicesKey() ?? "");
    toast(say.account.copied);
  } catch {
    toast(say.account.noCopy);
  }
}

/** Returns a line for each device with its contributions to `task`, and one for their sum. */
async function describe({ devices }: Linked, task: string, own: string | null): Promise<string[]> {
  const done = await Promise.all(devices.map(({ client }) => contributionOf(task, client)));
  const lines = devices.map(({ client, name }, index) => {
    const known = name || participantName(client);
    const [accepted, examples] = [done[index]?.accepted ?? 0, done[index]?.examples ?? 0];
    return line(client === own ? say.devices.here(known) : known, accepted, examples);
  });
  const accepted = done.reduce((sum, one) => sum + (one?.accepted ?? 0), 0);
  const examples = done.reduce((sum, one) => sum + (one?.examples ?? 0), 0);
  return [...lines, line(say.devices.together, accepted, examples)];
}

function line(name: string, accepted: number, examples: number): string {
  return `${name}: ${say.devices.counted(accepted)} · ${say.devices.learned(examples)}`;
}

function item(text: string): HTMLLIElement {
  const made = document.createElement("li");
  made.textContent = text;
  return made;
}
