/** Access to a task: creates invitations, shown once as an address and a QR code, and assigns roles. */

import { requestJson, showRefusal } from "../lib/api";
import { enableButtons, requireElement } from "../lib/dom";
import { bindDeletes, copy, numberOf, onSubmit, showOnce } from "../lib/forms";

/** Binds the page of invitations and roles. */
export function bindAccess(): void {
  const problem = requireElement(document, "problem");
  bindDeletes(problem);

  const form = requireElement<HTMLFormElement>(document, "invitation-form");
  onSubmit(form, problem, async (data) => {
    const asked = { note: data.get("note"), uses: numberOf(data, "uses"), days: numberOf(data, "days") };
    const made = (await requestJson("POST", form.dataset.address ?? "", asked)) as {
      address: string;
      qr: string;
    };
    requireElement<HTMLImageElement>(document, "invitation-qr").src = made.qr;
    showOnce("invitation-made", "invitation-address", made.address);
  });

  const address = requireElement<HTMLInputElement>(document, "invitation-address");
  requireElement(document, "invitation-copy").addEventListener("click", () => void copy(address));

  const roles = document.querySelector<HTMLFormElement>("[data-role-form]");
  if (roles) bindRoles(roles, roles.dataset.address ?? "", problem);
  enableButtons();
}

function bindRoles(form: HTMLFormElement, address: string, problem: HTMLElement): void {
  const give = async (account: unknown, role: unknown): Promise<void> => {
    await requestJson("PUT", address, { account, role });
    location.reload();
  };
  onSubmit(form, problem, (data) => give(data.get("account"), data.get("role")));
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-take-role]")) {
    button.addEventListener(
      "click",
      () => void showRefusal(problem, () => give(button.dataset.takeRole, null)),
    );
  }
}
