/** Where an invitation leads: its code, behind the # of the address, is exchanged for a cookie. */

import { say } from "../../i18n";
import { requestJson, showRefusal } from "../lib/api";
import { requireElement } from "../lib/dom";
import { codeOfAddress } from "./link-code";

/** Exchanges the code, and goes where it leads. */
export function joinByInvitation(): void {
  const problem = requireElement(document, "problem");
  const code = codeOfAddress();

  if (code) {
    void showRefusal(problem, async () => {
      const { path } = (await requestJson("POST", "/api/join", { code })) as { path: string };
      // Not kept in the history: whoever borrows the device has no invitation by that.
      location.replace(path);
    });
  } else {
    problem.textContent = say.account.cut;
  }
}
