/** Lists alerts: the problem, its time or period, and a button to acknowledge it. */

import { manage } from "../../i18n/texts/owners/dashboard/manage";
import { makeButton } from "../lib/button";
import { setChildren } from "../lib/dom";
import type { Alert } from "./frames";
import { alertWords } from "./tables";

/**
 * Parts `alerts`, the newest first, into those to show and those to fold away: ended ones that the owner has seen,
 * or whose trouble came again since.
 */
export function partAlerts(alerts: readonly Alert[]): { open: Alert[]; earlier: Alert[] } {
  const newest = new Map([...alerts].reverse().map((one) => [one.trouble, one.id]));
  const isOpen = (one: Alert) =>
    one.cleared === null || (one.acknowledged === null && newest.get(one.trouble) === one.id);
  return { open: alerts.filter(isOpen), earlier: alerts.filter((one) => !isOpen(one)) };
}

/** Shows `texts`, then `alerts`; items that stay keep their place and focus. `acknowledge`: null for no button. */
export function fillAlerts(
  list: HTMLElement,
  texts: readonly string[],
  alerts: readonly Alert[],
  time: Intl.DateTimeFormat,
  acknowledge: ((alert: Alert) => void) | null,
): void {
  const shown = new Map([...list.querySelectorAll("li")].map((item) => [item.dataset.shown, item]));
  const keep = (key: string, make: () => HTMLElement) => shown.get(key) ?? make();
  setChildren(list, [
    ...texts.map((text) => keep(text, () => item(text, text, null))),
    ...alerts.map((alert) => {
      const words = alertWords(alert, time);
      const press = alert.acknowledged === null ? acknowledge : null;
      return keep(`${words} ${press !== null}`, () => {
        const made = item(`${words} ${press !== null}`, words, press && (() => press(alert)));
        made.dataset.lasts = String(alert.cleared === null);
        return made;
      });
    }),
  ]);
}

function item(key: string, text: string, press: (() => void) | null): HTMLElement {
  const made = document.createElement("li");
  made.dataset.shown = key;
  const words = document.createElement("span");
  words.textContent = text;
  made.append(words);
  if (press) made.append(makeButton(manage.acknowledge, press, manage.acknowledgeWhat(text)));
  return made;
}
