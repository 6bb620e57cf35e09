/** What all training pages have: the card, the curves, and what every session is given. */

import type { StayOptions } from "../../client/session/session-loop";
import { ownToken } from "../../client/session/token";
import { SocketTransport, socketAddress } from "../../client/transports/socket";
import { Trainer } from "../../client/workers/training-worker";
import { part } from "../lib/dom";
import { keepFresh } from "../lib/refresh";
import { showVersions } from "../task/version-curve";
import { Control } from "./control-card";
import { Mine } from "./local-rounds";

export interface Training {
  readonly root: HTMLElement;
  readonly task: string;
  readonly control: Control;
  /** Fetches the figures of the page now. */
  readonly refresh: () => Promise<void>;
  readonly options: Omit<StayOptions<never>, "heard">;
}

/** Binds them; `protocol` is what is spoken on the task's socket. */
export function bindTraining(protocol: string): Training {
  const root = part(document, "train");
  const task = root.dataset.task ?? "";
  const control = new Control(root);
  const mine = new Mine(root);
  const drawVersions = showVersions(() => mine.rounds);
  const refresh = keepFresh(20, drawVersions);
  const options: Training["options"] = {
    transport: new SocketTransport(socketAddress(location.origin, task), protocol),
    trainer: (recovered) => new Trainer(recovered, control.own?.spawn),
    origin: location.origin,
    token: ownToken(),
    agent: "minga-page/0.1",
    changed: control.changed,
    progressed: ({ loss }) => control.learned(loss),
    learned: (learned) => {
      mine.add(learned);
      drawVersions();
    },
  };
  return { root, task, control, refresh, options };
}
