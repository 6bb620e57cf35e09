/** Signing in: by a passkey, a password, or a link, whose code stands behind the # of the address. */

import { say } from "../../i18n";
import { ask, trying } from "../lib/api";
import { part, wake } from "../lib/dom";
import { onSubmit } from "../lib/forms";
import { codeOfAddress } from "./link-code";
import { passkeysWork, usePasskey } from "./passkeys";

/** Binds the sign-in page. */
export function bindSignIn(): void {
  const told = part(document, "problem");
  const code = codeOfAddress();

  if (code) {
    // It is good for once: it has no place in the history or on a screenshot.
    history.replaceState(null, "", location.pathname);
    void trying(told, () => offer(code, told));
  }

  onSubmit(part<HTMLFormElement>(document, "password-form"), told, async (data) => {
    await ask("POST", "/api/sign-in/password", { name: data.get("name"), password: data.get("password") });
    location.assign("/account");
  });

  part(document, "passkey").hidden = !passkeysWork();
  part(document, "passkey-sign-in").addEventListener("click", () => {
    void trying(told, async () => {
      await usePasskey();
      location.assign("/account");
    });
  });
  wake();
}

/** Shows what the link is for, and signs in on the button. */
async function offer(code: string, told: HTMLElement): Promise<void> {
  const { account } = (await ask("POST", "/api/sign-in/link/look", { code })) as { account: string | null };
  const form = part<HTMLFormElement>(document, "link-form");
  const field = part(document, "link-field");
  const name = part<HTMLInputElement>(field, "name-input");

  part(document, "link-title").textContent =
    account === null ? say.account.welcome : say.account.back(account);
  part(document, "link-new").hidden = account !== null;
  field.hidden = account !== null;
  name.required = account === null;
  part(document, "by-link").hidden = false;
  part(document, "by-key").hidden = true;
  part(document, "without").hidden = true;
  if (account === null) name.focus();

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void trying(told, async () => {
      await ask("POST", "/api/sign-in/link", { code, name: name.value.trim() });
      location.assign("/account");
    });
  });
}
