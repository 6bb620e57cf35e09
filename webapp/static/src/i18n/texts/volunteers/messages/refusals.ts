import { later } from "../../../../core/user-messages";
import { translator } from "../gettext";

const RECONNECT = later("The connection failed. Try again in a minute; if it stays so, reload the page.");
const MASKS_FAILED = later(
  "Your part of the masked round is missing, late or wrong. The next round takes you again.",
);
const MEND = later("The server cannot use what your device sent. Reload the page and start again.");

/** What a code of the server means (docs/reference/errors.md), for languages that its own words are not in. */
export const REFUSALS: Readonly<Record<string, string>> = {
  // Of connections.
  error: RECONNECT,
  store: later("The server cannot store anything now. Try again in a minute."),
  "not-found": later("This task is not on the server any more. Choose another one."),
  "sign-in": later("The server does not know this sign-in any more. Sign in again."),
  forbidden: later("The server does not let this device take part here."),
  "bad-frame": MEND,
  "too-long": MEND,
  replaced: later("You opened this task elsewhere; that connection stays open."),
  removed: later("The owner of this task removed this device. Start again if you like."),
  banned: later("The owner of this task does not let this device take part any more."),
  "banned-by-members": later(
    "The others found work or statements of your device wrong and banned it from this task.",
  ),
  closed: later("This task has ended, so nobody can take part in it."),
  unfit: later(
    "This device cannot add updates up as this task does. Reload the page, or choose another task.",
  ),
  "not-exact": later(
    "This task needs the same bits from all, and this page computes by another program. Reload the page.",
  ),
  "work-required": later(
    "This task asks newcomers for a proof of work, and this device gave none. Reload the page.",
  ),
  idle: later("Nothing was heard from your device for too long. It connects again."),
  busy: later("As many take part as can be here. Try again in a minute, or choose another task."),
  "too-fast": later("Your device connects or sends too often. Wait a minute."),
  "too-slow": later("The connection is too slow for this task. Try a better network."),
  // Of results.
  refused: later("The server cannot use this result."),
  "wrong-length": later("The result is not of this version of the model. Reload the page."),
  "not-finite": later(
    "The result holds numbers that are none, or infinite ones. A smaller learning rate may help.",
  ),
  "norm-too-large": later("The update is larger than this task allows."),
  "no-commitment": MEND,
  "no-vector": MEND,
  "wrong-salt": MEND,
  "wrong-commitment": MEND,
  "bad-examples": MEND,
  "stale-round": later("Its round was over before it came. The next round takes you again."),
  "not-selected": later("Its round did not include your device. Wait for one that does."),
  duplicate: later("The server has an update of your device in this round already."),
  "bad-certificate": later(
    "The weights of your device lack the signatures of enough others. It takes those of the server.",
  ),
  "not-masked": MASKS_FAILED,
  "false-shares": later(
    "What your device shared with others did not let the sum be read. It is left out for some minutes.",
  ),
  masking: MASKS_FAILED,
  "bad-key": MASKS_FAILED,
  unseal: MASKS_FAILED,
  "share-mismatch": MASKS_FAILED,
};

/** Returns what the server says with a code: in the page's language, or its own words, which name more details. */
export function refusal(code: string, reason: string): string {
  const english = REFUSALS[code];
  return (english === undefined ? null : translator.find(english)) ?? reason;
}
