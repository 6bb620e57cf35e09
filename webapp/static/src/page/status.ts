/** What the volunteer's own session does, in words. Pure: everything shown is an argument. */

import type { View } from "../network/session";
import { type Phase, phase } from "../protocols/participant";
import { counted, decimal, number, seconds } from "../shared/format";

export interface Status {
  readonly phase: Phase;
  /** Changes only when something new happens; screen readers say it. */
  readonly spoken: string;
  readonly line: string;
  readonly hint: string;
  /** Steps done and due of the open round, or null. */
  readonly steps: readonly [number, number] | null;
}

/** `now` as in `performance.now()`; `own` counts the volunteer's own examples, null where the task brings them. */
export function statusOf(view: View, now: number, own: number | null = null): Status {
  const current = phase(view.machine);
  const [line, hint, spoken = line] = words(current, view, now, own);
  const { progress, machine } = view;
  const busy = progress !== null && machine.plan !== null && machine.offer === null;
  return { phase: current, line, hint, spoken, steps: busy ? [progress.step, progress.steps] : null };
}

type Words = readonly [line: string, hint: string, spoken?: string];

function words(current: Phase, view: View, now: number, own: number | null): Words {
  switch (current) {
    case "stopped":
      return stopped(view, own);
    case "connecting":
      return ["Connecting", "Looking for the server."];
    case "offline":
      return offline(view, now);
    case "loading":
      return ["Getting ready", again(view) ?? "Fetching the model and timing one step on this device."];
    case "waiting":
      return waiting(view, now);
    case "training":
      return training(view);
    case "uploading":
      return uploading(view);
    case "evaluating":
      return ["Measuring the new version", "Your device tests it on examples that nobody trains on."];
    case "finished":
      return ["The model is trained", "All rounds are done. Thank you for your part in it!"];
  }
}

function uploading({ done }: View): Words {
  const [steps, planned] = done ?? [1, 1];
  if (steps >= planned) return ["Sending your update", "This is how your device would change the model."];
  const share = Math.max(1, Math.floor((100 * steps) / planned));
  return ["Sending your update", `${share}\u202f% of the steps in time: they count as much as they are.`];
}

function stopped({ machine, problem }: View, own: number | null): Words {
  if (problem) return ["Stopped", problem];
  if (own === 0)
    return ["Choose your examples first", "This task learns from what you have, on your device."];
  if (machine.hello === null) return ["Ready when you are", inviting(own)];
  if (machine.reason && machine.accepted === 0) return ["Stopped", machine.reason];
  return machine.accepted > 0
    ? [
        "Stopped. Thank you!",
        `${counted(machine.accepted, "update")} of yours ${machine.accepted === 1 ? "is" : "are"} part of the model.`,
      ]
    : ["Stopped", "Start again whenever you like."];
}

function inviting(own: number | null): string {
  if (own === null) return "Press the button and your device joins the next round.";
  return `Press the button and your device joins the next round with ${counted(own, "example")} of yours.`;
}

function offline({ machine, progress, retryAt }: View, now: number): Words {
  const wait = retryAt === null ? "now" : `in ${seconds((retryAt - now) / 1000)}`;
  let hint = machine.dismissal ?? "The server cannot be reached. Nothing is lost: this goes on by itself.";
  if (machine.plan && machine.offer)
    hint = "Your update is ready and goes out as soon as the server is back.";
  else if (machine.plan && progress) {
    hint = `Your device trains on meanwhile: step ${progress.step} of ${progress.steps}.`;
  }
  return [`Offline: trying again ${wait}`, hint, "Offline: trying again"];
}

function waiting({ task, taskAt, client, counted: mine }: View, now: number): Words {
  const next = "Waiting for the next round";
  if (!task) return [next, "You are in from the next round on."];
  const left = task.seconds === null ? "" : `, at most ${seconds(task.seconds - (now - taskAt) / 1000)}`;
  const me = task.participants.find((one) => one.client === client);
  switch (task.phase) {
    case "waiting":
      return task.needed > 0
        ? [
            `Waiting for ${counted(task.needed, "more participant", "more participants")}`,
            "Training begins when enough are here. Send the address to a friend, or open it on another device.",
          ]
        : [next, "It opens in a moment."];
    case "aggregating":
      return [
        "Putting the updates together",
        `A new version of the model comes out of round ${number(task.round)}.`,
      ];
    case "evaluating":
      return [
        "Measuring the new version",
        `${number(task.reported)} of ${counted(task.cohort, "participant")} measured it so far${left}.`,
      ];
    case "finished":
      return ["The model is trained", "All rounds are done."];
    case "training": {
      const counts = me?.status === "reported" || mine === task.round;
      // The list is a moment behind what the server told this participant alone.
      const reported = counts ? Math.max(1, task.reported) : task.reported;
      const done = `${number(reported)} of ${counted(task.cohort, "update")} in so far`;
      if (counts) {
        const others = task.cohort - reported;
        return [
          `Your update counts: waiting for ${counted(others, "other")}${left}`,
          `Round ${number(task.round)}: ${done}.`,
          "Your update counts",
        ];
      }
      return [next, `Round ${number(task.round)} is open without you: ${done}${left}.`];
    }
  }
}

/** What went wrong with the worker, while it is asked again. */
function again({ problem }: View): string | null {
  return problem === null ? null : `${problem} Trying again.`;
}

function training(view: View): Words {
  const { machine, progress } = view;
  const round = machine.plan ? `Round ${number(machine.plan.round)}` : "Round";
  if (!progress) return ["Training: fetching the examples", again(view) ?? `${round}.`, "Training"];
  return [
    `Training: step ${number(progress.step)} of ${number(progress.steps)}`,
    `${round}. Loss ${decimal(progress.loss)}.`,
    `Training, ${round.toLowerCase()}`,
  ];
}
