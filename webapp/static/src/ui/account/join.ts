/** Joins by an invitation: exchanges the code behind the # of the address for a cookie. */

import { say } from "../../i18n";
import { requestJson, showRefusal } from "../lib/api";
import { requireElement } from "../lib/dom";
import { codeOfAddress } from "./link-code";

/** Exchanges the code, and opens the page that it is for. */
export function joinByInvitation(): void {
  const problem = requireElement(document, "problem");
  const code = codeOfAddress();

  if (code) {
    void showRefusal(problem, async () => {
      const { path } = (await requestJson("POST", "/api/join", { code })) as { path: string };
      // Removes the code from the history, so that another user of the device cannot use the invitation.
      location.replace(path);
    });
  } else {
    problem.textContent = say.account.cut;
  }
}
