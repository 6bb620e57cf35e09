/** Who may see a task: makes invitations, shown once as an address and a QR code, and gives roles. */

import { ask, trying } from "../lib/api";
import { part, wake } from "../lib/dom";
import { bindDeletes, copy, numberIn, onSubmit, showOnce } from "../lib/forms";

/** Binds the page of invitations and roles. */
export function bindAccess(): void {
  const told = part(document, "problem");
  bindDeletes(told);

  const form = part<HTMLFormElement>(document, "invitation-form");
  onSubmit(form, told, async (data) => {
    const asked = { note: data.get("note"), uses: numberIn(data, "uses"), days: numberIn(data, "days") };
    const made = (await ask("POST", form.dataset.address ?? "", asked)) as { address: string; qr: string };
    part<HTMLImageElement>(document, "invitation-qr").src = made.qr;
    showOnce("invitation-made", "invitation-address", made.address);
  });

  const address = part<HTMLInputElement>(document, "invitation-address");
  part(document, "invitation-copy").addEventListener("click", () => void copy(address));

  const roles = document.querySelector<HTMLFormElement>("[data-role-form]");
  if (roles) bindRoles(roles, roles.dataset.address ?? "", told);
  wake();
}

function bindRoles(form: HTMLFormElement, address: string, told: HTMLElement): void {
  const give = async (account: unknown, role: unknown): Promise<void> => {
    await ask("PUT", address, { account, role });
    location.reload();
  };
  onSubmit(form, told, (data) => give(data.get("account"), data.get("role")));
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-take-role]")) {
    button.addEventListener("click", () => void trying(told, () => give(button.dataset.takeRole, null)));
  }
}
