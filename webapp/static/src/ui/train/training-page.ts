/** The parts common to all training pages: the card, the curves, and the options of every session. */

import type { SessionLoopOptions } from "../../client/session/session-loop";
import { ownToken } from "../../client/session/token";
import { SocketTransport, socketAddress } from "../../client/transports/socket";
import { Trainer } from "../../client/workers/training-worker";
import { requireElement } from "../lib/dom";
import { startRefreshing } from "../lib/refresh";
import { bindSections } from "../lib/sections";
import { showVersions } from "../task/version-curve";
import { ControlCard } from "./control-card";
import { bindDevices } from "./devices";
import { showEarlierVisits } from "./earlier-visits";
import { LocalRounds } from "./local-rounds";
import { provingTransport } from "./work-proof";

export interface TrainingPage {
  readonly root: HTMLElement;
  readonly task: string;
  readonly control: ControlCard;
  /** The participants with which a round begins; 0 where nobody waits for others. */
  readonly least: number;
  /** Refreshes the figures of the page immediately. */
  readonly refresh: () => Promise<void>;
  readonly options: Omit<SessionLoopOptions<never>, "received">;
}

/** Binds them; `protocol` is the subprotocol of the task's socket. */
export function bindTraining(protocol: string): TrainingPage {
  const root = requireElement(document, "train");
  const task = root.dataset.task ?? "";
  bindSections();
  const { program = null, exact } = root.dataset;
  const preferExact = program !== null && exact === "preferred";
  const control = new ControlCard(root);
  const localRounds = new LocalRounds(root);
  const drawVersions = showVersions(() => localRounds.rounds);
  const refresh = startRefreshing(20, drawVersions);
  const token = ownToken();
  void showEarlierVisits(root, task, token);
  bindDevices(root, task, token);
  const socket = new SocketTransport(socketAddress(location.origin, task), protocol);
  const asksWork = root.dataset.newcomersAsked === "work";
  const proving = (active: boolean) => control.proving(active);
  const options: TrainingPage["options"] = {
    transport: asksWork ? provingTransport(socket, root, task, token, proving) : socket,
    trainer: (recovered) => new Trainer(recovered, control.own?.spawn, preferExact),
    origin: location.origin,
    token,
    agent: "minga-page/0.1",
    program,
    changed: control.changed,
    progressed: ({ loss }) => control.learned(loss),
    learned: (learned) => {
      localRounds.add(learned);
      drawVersions();
    },
  };
  return { root, task, control, least: Number(root.dataset.least), refresh, options };
}
