/** Where an invitation leads: its code, behind the # of the address, is exchanged for a cookie. */

import "./minga.css";
import { say } from "../i18n";
import { ask, trying } from "./account/ask";
import { codeOfAddress } from "./account/code";
import { part } from "./dom";

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
