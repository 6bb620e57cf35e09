/** Launches a draft: as a private test with an invitation, or publicly. */

import { say } from "../../../i18n/texts/owners/review";
import { requestJson, showRefusal } from "../../lib/api";
import { requireElement, setText } from "../../lib/dom";
import { copy } from "../../lib/forms";
import type { DraftFrame } from "../frame";
import { tableAt } from "../record";

const INVITED_DAYS = 30;

export function bindLaunch(frame: DraftFrame): void {
  const buttons = document.querySelectorAll<HTMLButtonElement>("[data-launch]");
  for (const button of buttons) {
    button.addEventListener("click", () => void launch(frame, button.dataset.launch === "test", buttons));
  }
}

async function launch(frame: DraftFrame, test: boolean, buttons: Iterable<HTMLButtonElement>): Promise<void> {
  const enable = (enabled: boolean) => {
    for (const button of buttons) button.disabled = !enabled;
  };
  enable(false);
  await showRefusal(requireElement(document, "launch-problem"), async () => {
    await frame.flush();
    const invited = tableAt(frame.draft().task, "access").visibility === "invited";
    const task = await launched(frame, test);
    const dashboard = `/tasks/${task}/manage`;
    // The draft no longer exists; a reload opens the dashboard.
    history.replaceState(null, "", dashboard);
    if (test || invited) await invite(task, dashboard, test);
    else location.assign(dashboard);
  });
  enable(true);
}

/** Launches, and returns the name of the task. */
async function launched(frame: DraftFrame, test: boolean): Promise<string> {
  frame.leave(true);
  try {
    return ((await requestJson("POST", `${frame.address}/launch`, { test })) as { task: string }).task;
  } catch (error) {
    frame.leave(false);
    throw error;
  }
}

async function invite(task: string, dashboard: string, test: boolean): Promise<void> {
  requireElement(document, "before-launch").hidden = true;
  const panel = requireElement(document, "launched");
  const words = requireElement(panel, "launched-words");
  const live = requireElement<HTMLButtonElement>(panel, "go-live");
  const address = requireElement<HTMLInputElement>(panel, "invitation-address");
  const problem = requireElement(document, "problem");
  requireElement<HTMLAnchorElement>(panel, "dashboard").href = dashboard;
  requireElement(panel, "invitation-copy").addEventListener("click", () => void copy(address));
  live.hidden = !test;
  const describe = requireElement<HTMLAnchorElement>(panel, "describe-link");
  describe.hidden = !test;
  describe.href = `/tasks/${task}/describe`;
  live.addEventListener("click", () => {
    void showRefusal(problem, async () => {
      await requestJson("POST", `/api/tasks/${task}/orders`, { order: "launch" });
      location.assign(dashboard);
    });
  });
  closeDraft(test ? say.inTest : say.isLive);
  panel.hidden = false;
  setText(words, test ? say.testing : say.live);
  words.focus();
  await showRefusal(problem, async () => {
    const asked = { note: say.invitation, days: INVITED_DAYS };
    const made = (await requestJson("POST", `/api/tasks/${task}/invitations`, asked)) as {
      address: string;
      qr: string;
    };
    address.value = made.address;
    requireElement<HTMLImageElement>(panel, "invitation-qr").src = made.qr;
  });
}

/** Removes the links to the draft, which no longer exists. */
function closeDraft(standing: string): void {
  setText(requireElement(document, "draft-standing"), standing);
  for (const part of document.querySelectorAll<HTMLElement>(".wizard-steps, .onward, .wizard-body .lead"))
    part.hidden = true;
  const launchedSection = requireElement(document, "launched").closest("section");
  for (const card of document.querySelectorAll<HTMLElement>(".wizard-body .card")) {
    card.hidden = card !== launchedSection;
  }
}
