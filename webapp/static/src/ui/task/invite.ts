/** "Invite others": a dialog with the task's address, to copy, to share, to scan, or to put on a web page. */

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

  const embed = requireElement<HTMLTextAreaElement>(dialog, "invite-embed");
  embed.value = link(address, dialog.dataset.link ?? "");
  const code = requireElement<HTMLImageElement>(dialog, "invite-qr");

  open.addEventListener("click", () => {
    // A page on which nobody invites does not fetch the code.
    if (!code.src) code.src = dialog.dataset.code ?? "";
    dialog.showModal();
  });
  // A click beside the dialog has the dialog itself as target, a click inside one of its elements.
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog) dialog.close();
  });
  requireElement(dialog, "invite-copy").addEventListener("click", () => void copy(field));
  requireElement(dialog, "embed-copy").addEventListener("click", () => void copy(embed));
  send.addEventListener("click", () => {
    // Cancelling is no failure.
    navigator.share({ title: document.title, url: address }).catch(() => undefined);
  });
}

/** Returns the link for a page in HTML. */
function link(address: string, text: string): string {
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.textContent = text;
  return anchor.outerHTML;
}

async function copy(field: HTMLInputElement | HTMLTextAreaElement): Promise<void> {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    toast(say.invite.copied);
  } catch {
    // Browsers allow the clipboard only to pages over https, and sometimes ask for permission.
    toast(say.invite.copyYourself);
  }
}
