import { compact, number } from "../../formatting";
import { figures } from "./figures";
import { _, ngettext } from "./gettext";

/** What the control card says on every training page. */
export const card = {
  start: _("Start training"),
  stop: _("Stop"),
  ready: _("Ready when you are"),
  press: _("Press the button and your device joins the next round."),
  pressWith: (examples: number) =>
    ngettext(
      "Press the button and your device joins the next round with %(count)s example of yours.",
      "Press the button and your device joins the next round with %(count)s examples of yours.",
      examples,
    ),
  chooseFirst: _("Choose your examples first"),
  learnsFromYours: _("This task trains on your own files, on your device."),
  earlierVisits: (results: number, examples: number, operations: number) => {
    const counted = ngettext(
      "From earlier visits, %(count)s contribution of this device counts.",
      "From earlier visits, %(count)s contributions of this device count.",
      results,
    );
    if (examples === 0) return counted;
    const learned = ngettext(
      "It learned from %(count)s example.",
      "It learned from %(count)s examples.",
      examples,
    );
    const took = _("That took about %(count)s calculations.", { count: compact(operations) });
    return `${counted} ${learned} ${took}`;
  },
  stopped: _("Stopped"),
  startAgain: _("Start again whenever you like."),
  thanks: _("Stopped. Thank you!"),
  connecting: _("Connecting"),
  lookingForServer: _("Looking for the server."),
  provingWork: _("Solving a proof of work"),
  provingFirst: _("This task asks it of newcomers. Then your device connects."),
  /** `left` is null before the first part was found. */
  proving: (share: string, left: string | null) =>
    left === null
      ? _("Proving that this is a device: measuring how long it takes.")
      : _("Proving that this is a device: %(share)s done, about %(left)s more.", { share, left }),
  gettingReady: _("Getting ready"),
  fetchingModel: _("Fetching the model and timing one step on this device."),
  again: (problem: string) => _("%(problem)s Trying again.", { problem }),
  needed: (count: number) =>
    ngettext("Waiting for %(count)s more participant", "Waiting for %(count)s more participants", count),
  present: (here: number, least: number) =>
    ngettext(
      "Waiting for others: %(count)s of %(least)s is here",
      "Waiting for others: %(count)s of %(least)s are here",
      here,
      { least: number(least) },
    ),
  sendTheAddress: _(
    "Training begins when enough participants are here. Send the address to a friend, or open it on another device.",
  ),
  nextRound: _("Waiting for the next round"),
  inFromNext: _("You are in from the next round on."),
  opensSoon: _("It opens in a moment."),
  paused: _("Paused by the task’s owner"),
  pausedStay: _("Your device waits and continues when the training does. You may also leave and come back."),
  measuring: _("Measuring the new version"),
  measuringHere: _("Your device tests it on examples that nobody trains on."),
  trained: _("The model is trained"),
  nothingLeft: _("There is nothing left to train. The result is on the task’s page."),
  allDone: _("All rounds are done."),
  allDoneThanks: _("All rounds are done. Thank you for your part in it!"),
  training: _("Training now"),
  round: (round: number) => _("Round %(round)s", { round: number(round) }),
  noRound: _("Round"),
  stepInRound: (step: number, steps: number, round: number) =>
    _("Step %(step)s of %(steps)s in round %(round)s", {
      step: number(step),
      steps: number(steps),
      round: number(round),
    }),
  loss: (loss: number) => _("Loss %(loss)s.", { loss: figures.loss(loss) }),
  /** `round` begins a sentence elsewhere. */
  spokenStep: (round: string) => _("Training, %(round)s", { round: round.toLowerCase() }),
  goesOnWith: (backend: string) => _("The round continues with %(backend)s.", { backend }),
  goesOnSliced: (backend: string) =>
    _("The round continues with %(backend)s, in smaller pieces.", { backend }),
  otherVersion: _("The server speaks another version of this protocol. Reload the page and start again."),
  screenStays: _("The screen stays on while you take part. You can use other tabs meanwhile."),
  screenMayDarken: _(
    "This browser may let the screen go dark, and training with it: plug the device in and keep this page in view.",
  ),
};
