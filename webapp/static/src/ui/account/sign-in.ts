/** Signs in by a passkey, a password, or a link, whose code is behind the # of the address. */

import { say } from "../../i18n";
import { requestJson, showRefusal } from "../lib/api";
import { enableButtons, requireElement } from "../lib/dom";
import { onSubmit } from "../lib/forms";
import { codeOfAddress } from "./link-code";
import { passkeysWork, usePasskey } from "./passkeys";

/** Binds the sign-in page. */
export function bindSignIn(): void {
  const problem = requireElement(document, "problem");
  const code = codeOfAddress();

  if (code) {
    // The code is removed from the history and from screenshots: it is valid once.
    history.replaceState(null, "", location.pathname);
    void showRefusal(problem, () => offer(code, problem));
  }

  onSubmit(requireElement<HTMLFormElement>(document, "password-form"), problem, async (data) => {
    await requestJson("POST", "/api/sign-in/password", {
      name: data.get("name"),
      password: data.get("password"),
    });
    location.assign("/account");
  });

  requireElement(document, "passkey").hidden = !passkeysWork();
  requireElement(document, "passkey-sign-in").addEventListener("click", () => {
    void showRefusal(problem, async () => {
      await usePasskey();
      location.assign("/account");
    });
  });
  enableButtons();
}

/** Shows the purpose of the link, and signs in when the button is pressed. */
async function offer(code: string, problem: HTMLElement): Promise<void> {
  const { account } = (await requestJson("POST", "/api/sign-in/link/look", { code })) as {
    account: string | null;
  };
  const form = requireElement<HTMLFormElement>(document, "link-form");
  const field = requireElement(document, "link-field");
  const name = requireElement<HTMLInputElement>(field, "name-input");

  requireElement(document, "link-title").textContent =
    account === null ? say.account.welcome : say.account.back(account);
  requireElement(document, "link-new").hidden = account !== null;
  field.hidden = account !== null;
  name.required = account === null;
  requireElement(document, "by-link").hidden = false;
  requireElement(document, "by-key").hidden = true;
  requireElement(document, "without").hidden = true;
  if (account === null) name.focus();

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void showRefusal(problem, async () => {
      await requestJson("POST", "/api/sign-in/link", { code, name: name.value.trim() });
      location.assign("/account");
    });
  });
}
