/** The dashboard's socket: receives frames, and reconnects when the connection ends. */

import type { DashboardEnded, DashboardFrame } from "./frames";

const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 30_000;

/**
 * Calls `received` with each frame, and `away` when the connection was lost (true) or is back (false). When the
 * person may no longer watch, it calls `ended` with a sentence and does not reconnect.
 */
export function watch(
  task: string,
  received: (frame: DashboardFrame) => void,
  away: (lost: boolean) => void,
  ended: (reason: string) => void,
): void {
  const address = new URL(`/api/tasks/${encodeURIComponent(task)}/watch`, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  let pause = FIRST_PAUSE;
  let over = false;

  function open(): void {
    const socket = new WebSocket(address);
    socket.addEventListener("message", ({ data }) => {
      pause = FIRST_PAUSE;
      away(false);
      const frame = JSON.parse(String(data)) as DashboardFrame | DashboardEnded;
      if (frame.type !== "ended") return received(frame);
      over = true;
      ended(frame.reason);
    });
    socket.addEventListener("close", () => {
      if (over) return;
      away(true);
      setTimeout(open, pause * (0.5 + Math.random()));
      pause = Math.min(LONGEST_PAUSE, 2 * pause);
    });
  }
  open();
}
