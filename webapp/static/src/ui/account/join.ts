/** Where an invitation leads: its code, behind the # of the address, is exchanged for a cookie. */

import { say } from "../../i18n";
import { ask, trying } from "../lib/api";
import { part } from "../lib/dom";
import { codeOfAddress } from "./link-code";

/** Exchanges the code, and goes where it leads. */
export function joinByInvitation(): void {
  const told = part(document, "problem");
  const code = codeOfAddress();

  if (code) {
    void trying(told, async () => {
      const { path } = (await ask("POST", "/api/join", { code })) as { path: string };
      // Not kept in the history: whoever borrows the device has no invitation by that.
      location.replace(path);
    });
  } else {
    told.textContent = say.account.cut;
  }
}
