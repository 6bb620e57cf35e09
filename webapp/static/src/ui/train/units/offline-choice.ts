/** The volunteer's choice for how long the device takes work without a connection. Stored for all tasks of this site. */

import { storeChoice, storedChoice } from "../stored-choice";

const KEY = "minga-offline";

/** Sets the stored choice and returns the seconds; `changed` hears of others. 0 where the task allows none. */
export function offlineChoice(root: HTMLElement, changed: (seconds: number) => void): number {
  const select = root.querySelector<HTMLSelectElement>("[data-offline]");
  if (select === null) return 0;
  const stored = storedChoice(KEY);
  if ([...select.options].some(({ value }) => value === stored)) select.value = stored;
  select.addEventListener("change", () => {
    storeChoice(KEY, select.value);
    changed(Number(select.value));
  });
  return Number(select.value);
}
