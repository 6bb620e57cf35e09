import { axisPercent, number } from "../../formatting";
import { _, ngettext } from "./gettext";

/** What a device does in a round that the server leads. */
export const round = {
  sending: _("Sending your update"),
  sendingWhole: _("This is how your device would change the model."),
  sendingMasked: (members: number) =>
    _("Masked among %(members)s: the server can read only their sum.", {
      members: number(members),
    }),
  sendingPart: (percent: number) =>
    _("%(share)s of the steps are done in time, and count.", {
      share: axisPercent(percent / 100),
    }),
  counting: (updates: number) =>
    ngettext(
      "%(count)s update of yours is part of the model.",
      "%(count)s updates of yours are part of the model.",
      updates,
    ),
  offline: _("Offline: trying again"),
  offlineIn: (seconds: string) => _("Offline: trying again in %(seconds)s", { seconds }),
  offlineNow: _("Offline: trying again now"),
  unreachable: _("The server cannot be reached. Nothing is lost: training continues by itself."),
  updateReady: _("Your update is ready and is sent as soon as the server is back."),
  trainsOn: (step: number, steps: number) =>
    _("Your device continues training: step %(step)s of %(steps)s.", {
      step: number(step),
      steps: number(steps),
    }),
  together: _("Putting the updates together"),
  versionOf: (round: number) =>
    _("Round %(round)s is becoming a new version of the model.", { round: number(round) }),
  /** `left` is what `atMost` says, or nothing. */
  measured: (reported: number, cohort: number, left: string) =>
    ngettext(
      "%(reported)s of %(count)s participant measured it so far%(left)s.",
      "%(reported)s of %(count)s participants measured it so far%(left)s.",
      cohort,
      { reported: number(reported), left },
    ),
  atMost: (seconds: string) => _(", at most %(seconds)s", { seconds }),
  updatesIn: (reported: number, cohort: number) =>
    ngettext(
      "%(reported)s of %(count)s update in so far",
      "%(reported)s of %(count)s updates in so far",
      cohort,
      { reported: number(reported) },
    ),
  counts: _("Your update counts"),
  uncounted: _("Your updates do not count at present"),
  countsWaiting: (others: number) =>
    ngettext(
      "Your update counts: waiting for %(count)s other",
      "Your update counts: waiting for %(count)s others",
      others,
    ),
  checked: _("Your update was checked"),
  probation: (rounds: number) =>
    rounds === 0
      ? _("This task checks the first updates of newcomers. From the next round on, yours count.")
      : ngettext(
          "This task checks the first updates of newcomers. Yours count after %(count)s more round.",
          "This task checks the first updates of newcomers. Yours count after %(count)s more rounds.",
          rounds,
        ),
  stay: _("Stay until it ends: removing the masks from the sum needs everyone."),
  without: (round: number, done: string, left: string) =>
    _("Round %(round)s is open without you: %(done)s%(left)s.", { round: number(round), done, left }),
  goesOnWithout: _("This round continues without you"),
  masking: _("Masking your update"),
  waitsForKeys: _("It waits for the keys of the others."),
  makesMasks: _("Its masks are in the making."),
  fetching: _("Training: fetching the examples"),
};
