/** Shows a button while a job of the server waits or runs, and cancels the job with it. */

import type { JobWork } from "./jobs";

/** Binds `button`; call the result with the job that is followed, and with null at its end. */
export function bindCancelButton(button: HTMLButtonElement): (work: JobWork | null) => void {
  let current: JobWork | null = null;
  button.addEventListener("click", () => {
    // The job ends when the server's process has, a moment later.
    button.disabled = true;
    void current?.cancel();
  });
  return (work) => {
    current = work;
    button.hidden = work === null;
    button.disabled = false;
  };
}
