/** The account page: passkeys and password, sessions, API tokens, links for others. */

import { requestJson, showRefusal } from "../lib/api";
import { enableButtons, requireElement } from "../lib/dom";
import { bindDeletes, onSubmit, showOnce } from "../lib/forms";
import { bindAccountDeletion } from "./deletion";
import { makePasskey, passkeysWork } from "./passkeys";

/** Binds the page. Changes show after a reload. */
export function bindAccountPage(): void {
  const problem = requireElement(document, "problem");
  bindDeletes(problem);

  requireElement(document, "sign-out").addEventListener("click", () => {
    void showRefusal(problem, async () => {
      await requestJson("POST", "/api/sign-out");
      location.assign("/");
    });
  });

  const passkey = requireElement<HTMLFormElement>(document, "passkey-form");
  passkey.hidden = !passkeysWork();
  requireElement(document, "passkey-not").hidden = passkeysWork();
  onSubmit(passkey, problem, async (data) => {
    await makePasskey(String(data.get("name")));
    location.reload();
  });

  onSubmit(requireElement<HTMLFormElement>(document, "password-form"), problem, async (data) => {
    const asked = { password: data.get("password"), current: data.get("current") ?? "" };
    await requestJson("PUT", "/api/account/password", asked);
    location.reload();
  });

  onSubmit(requireElement<HTMLFormElement>(document, "token-form"), problem, async (data) => {
    const asked = { name: data.get("name"), scopes: data.getAll("scope"), task: data.get("task") || null };
    const { token } = (await requestJson("POST", "/api/account/tokens", asked)) as { token: string };
    showOnce("token-made", "token-text", token);
  });

  bindAccountDeletion(problem);

  const invitation = document.querySelector<HTMLFormElement>("[data-link-form]");
  if (invitation) {
    onSubmit(invitation, problem, async (data) => {
      const { path } = (await requestJson("POST", "/api/account/links", {
        operator: data.has("operator"),
      })) as {
        path: string;
      };
      showOnce("link-made", "link-address", new URL(path, location.origin).href);
    });
  }
  enableButtons();
}
