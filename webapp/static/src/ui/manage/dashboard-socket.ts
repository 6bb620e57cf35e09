/** The dashboard's socket: frames as they come, and another connection when one ends. */

import type { DashboardEnded, DashboardFrame } from "./frames";

const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 30_000;

/**
 * Calls `heard` with each frame, `away` when the connection was lost (true) or stands again (false), and `ended` with a
 * sentence when whoever looks may not any more: then it connects no more.
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
