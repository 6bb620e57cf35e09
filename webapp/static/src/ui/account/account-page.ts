/** The account page: passkeys and password, sessions, API tokens, links for others. */

import { ask, trying } from "../lib/api";
import { part, wake } from "../lib/dom";
import { bindDeletes, onSubmit, showOnce } from "../lib/forms";
import { bindLeaving } from "./deletion";
import { makePasskey, passkeysWork } from "./passkeys";

/** Binds the page. What is made or ended shows after a reload. */
export function bindAccountPage(): void {
  const told = part(document, "problem");
  bindDeletes(told);

  part(document, "sign-out").addEventListener("click", () => {
    void trying(told, async () => {
      await ask("POST", "/api/sign-out");
      location.assign("/");
    });
  });

  const passkey = part<HTMLFormElement>(document, "passkey-form");
  passkey.hidden = !passkeysWork();
  part(document, "passkey-not").hidden = passkeysWork();
  onSubmit(passkey, told, async (data) => {
    await makePasskey(String(data.get("name")));
    location.reload();
  });

  onSubmit(part<HTMLFormElement>(document, "password-form"), told, async (data) => {
    const asked = { password: data.get("password"), current: data.get("current") ?? "" };
    await ask("PUT", "/api/account/password", asked);
    location.reload();
  });

  onSubmit(part<HTMLFormElement>(document, "token-form"), told, async (data) => {
    const asked = { name: data.get("name"), scopes: data.getAll("scope"), task: data.get("task") || null };
    const { token } = (await ask("POST", "/api/account/tokens", asked)) as { token: string };
    showOnce("token-made", "token-text", token);
  });

  bindLeaving(told);

  const invitation = document.querySelector<HTMLFormElement>("[data-link-form]");
  if (invitation) {
    onSubmit(invitation, told, async (data) => {
      const { path } = (await ask("POST", "/api/account/links", { operator: data.has("operator") })) as {
        path: string;
      };
      showOnce("link-made", "link-address", new URL(path, location.origin).href);
    });
  }
  wake();
}
