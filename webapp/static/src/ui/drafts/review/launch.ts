/** A draft goes to others: as a private test with an invitation, or to everybody at once. */

import { say } from "../../../i18n/owners/review";
import { ask, trying } from "../../lib/api";
import { part, write } from "../../lib/dom";
import { copy } from "../../lib/forms";
import type { Frame } from "../frame";
import { tableAt } from "../record";

const INVITED_DAYS = 30;

export function bindLaunch(frame: Frame): void {
  const buttons = document.querySelectorAll<HTMLButtonElement>("[data-launch]");
  for (const button of buttons) {
    button.addEventListener("click", () => void launch(frame, button.dataset.launch === "test", buttons));
  }
}

async function launch(frame: Frame, test: boolean, buttons: Iterable<HTMLButtonElement>): Promise<void> {
  const enable = (enabled: boolean) => {
    for (const button of buttons) button.disabled = !enabled;
  };
  enable(false);
  await trying(part(document, "launch-problem"), async () => {
    await frame.flush();
    const invited = tableAt(frame.draft().task, "access").visibility === "invited";
    const task = await launched(frame, test);
    const dashboard = `/tasks/${task}/manage`;
    // The draft is gone; who reloads comes to its dashboard.
    history.replaceState(null, "", dashboard);
    if (test || invited) await invite(task, dashboard, test);
    else location.assign(dashboard);
  });
  enable(true);
}

/** The name of the task. */
async function launched(frame: Frame, test: boolean): Promise<string> {
  frame.leave(true);
  try {
    return ((await ask("POST", `${frame.address}/launch`, { test })) as { task: string }).task;
  } catch (error) {
    frame.leave(false);
    throw error;
  }
}

async function invite(task: string, dashboard: string, test: boolean): Promise<void> {
  part(document, "before-launch").hidden = true;
  const panel = part(document, "launched");
  const words = part(panel, "launched-words");
  const live = part<HTMLButtonElement>(panel, "go-live");
  const address = part<HTMLInputElement>(panel, "invitation-address");
  const problem = part(document, "problem");
  part<HTMLAnchorElement>(panel, "dashboard").href = dashboard;
  part(panel, "invitation-copy").addEventListener("click", () => void copy(address));
  live.hidden = !test;
  live.addEventListener("click", () => {
    void trying(problem, async () => {
      await ask("POST", `/api/tasks/${task}/orders`, { order: "launch" });
      location.assign(dashboard);
    });
  });
  closeDraft(test ? say.inTest : say.isLive);
  panel.hidden = false;
  write(words, test ? say.testing : say.live);
  words.focus();
  await trying(problem, async () => {
    const asked = { note: say.invitation, days: INVITED_DAYS };
    const made = (await ask("POST", `/api/tasks/${task}/invitations`, asked)) as {
      address: string;
      qr: string;
    };
    address.value = made.address;
    part<HTMLImageElement>(panel, "invitation-qr").src = made.qr;
  });
}

/** What belongs to a draft leads nowhere once there is none. */
function closeDraft(standing: string): void {
  write(part(document, "draft-standing"), standing);
  for (const part of document.querySelectorAll<HTMLElement>(".wizard-steps, .onward, .wizard-body .lead"))
    part.hidden = true;
  const kept = part(document, "launched").closest("section");
  for (const card of document.querySelectorAll<HTMLElement>(".wizard-body .card")) {
    card.hidden = card !== kept;
  }
}
