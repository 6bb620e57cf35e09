/** Where an invitation leads: its code, behind the # of the address, is exchanged for a cookie. */

import "../ui/styles/minga.css";
import { say } from "../i18n";
import { codeOfAddress } from "../ui/account/link-code";
import { ask, trying } from "../ui/lib/api";
import { part } from "../ui/lib/dom";

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
