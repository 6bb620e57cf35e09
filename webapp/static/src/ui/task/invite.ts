/** "Invite others": a dialog with the task's address, to copy or to share. */

import { say } from "../../i18n";
import { requireElement } from "../lib/dom";
import { toast } from "../lib/toast";

const ALONE = ["localhost", "127.0.0.1", "[::1]"];

/** Binds the button and the dialog of the page. */
export function bindInvite(): void {
  const open = requireElement<HTMLButtonElement>(document, "invite");
  const dialog = requireElement<HTMLDialogElement>(document, "invite-dialog");
  const field = requireElement<HTMLInputElement>(dialog, "invite-address");
  const send = requireElement<HTMLButtonElement>(dialog, "invite-send");
  const address = new URL(dialog.dataset.address ?? "", location.origin).href;

  field.value = address;
  requireElement(dialog, "invite-alone").hidden = !ALONE.includes(location.hostname);
  // Phones share the address with any app; without that, copying is enough.
  send.hidden = !("share" in navigator);
  open.hidden = false;

  open.addEventListener("click", () => dialog.showModal());
  // A click beside the dialog has the dialog itself as target, a click inside one of its elements.
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog) dialog.close();
  });
  requireElement(dialog, "invite-copy").addEventListener("click", () => void copy(field));
  send.addEventListener("click", () => {
    // Cancelling is no failure.
    navigator.share({ title: document.title, url: address }).catch(() => undefined);
  });
}

async function copy(field: HTMLInputElement): Promise<void> {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    toast(say.invite.copied);
  } catch {
    // Browsers allow the clipboard only to pages over https, and sometimes ask for permission.
    toast(say.invite.copyYourself);
  }
}
