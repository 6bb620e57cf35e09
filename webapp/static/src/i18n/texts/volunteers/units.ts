import { number, percent, seconds } from "../../formatting";
import { figures } from "./figures";
import { _, ngettext } from "./gettext";

const agreeing = (checked: number) =>
  ngettext(
    "%(count)s result of yours in a row agrees with what others sent",
    "%(count)s results of yours in a row agree with what others sent",
    checked,
  );

/** What a device does in a task of work units. */
export const units = {
  press: _("Press the button and your device gets its first unit: a part of the examples."),
  finishing: (units: number) =>
    ngettext(
      "Your device finishes %(count)s unit, then it stops.",
      "Your device finishes %(count)s units, then it stops.",
      units,
    ),
  /** What a device has for a time without a connection. */
  loaded: (loaded: number, fetching: number) =>
    fetching > 0
      ? _("Units loaded: %(loaded)s, still to load: %(fetching)s.", {
          loaded: number(loaded),
          fetching: number(fetching),
        })
      : _("Units loaded: %(loaded)s.", { loaded: number(loaded) }),
  enoughFor: (duration: number) =>
    duration < 90
      ? _("Enough for about %(seconds)s.", { seconds: seconds(duration) })
      : _("Enough for about %(minutes)s min.", { minutes: number(Math.round(duration / 60)) }),
  /** What a device without a connection has. */
  inHand: (done: number, left: number) =>
    _("Results ready to send: %(done)s, units left to train: %(left)s.", {
      done: number(done),
      left: number(left),
    }),
  unit: (unit: number, epoch: number) =>
    _("Unit %(unit)s of epoch %(epoch)s", { unit: number(unit), epoch: number(epoch) }),
  stepInUnit: (step: number, steps: number, unit: number) =>
    _("Step %(step)s of %(steps)s in unit %(unit)s", {
      step: number(step),
      steps: number(steps),
      unit: number(unit),
    }),
  fetching: _("Training: fetching the examples"),
  beginning: _("Training: the first step"),
  allDone: _("All epochs are done. Thank you for your part in it!"),
  sending: _("Sending what was learned"),
  sendingHint: (unit: string) => _("%(unit)s: this is how your device would change the model.", { unit }),
  waiting: _("Waiting for a unit"),
  /** Why there is none now. */
  idle: {
    nothing: _(
      "All units are with other devices, or wait for one in another network. Your device gets the next free one.",
    ),
    quota: _("Your device reached today’s limit of units. It continues tomorrow."),
    reliable: _(
      "The last units of an epoch go to devices that were on time before. Yours gets one if they are not.",
    ),
    bound: _("Your device is far ahead. It waits until slower ones catch up."),
    released: _(
      "This device gave units back. The wait for the next one grows each time, and ends by itself; results shorten it.",
    ),
    paused: _("The task’s owner paused it. Your device continues when the task does."),
    over: _("All epochs are done."),
  },
  soon: _("It comes in a moment."),
  quotaDone: _("Enough for today"),
  ready: _("Your unit is ready and is sent as soon as the server is back."),
  counting: (units: number) =>
    ngettext("%(count)s unit of yours counts.", "%(count)s units of yours count.", units),
  /** What becomes of a unit. */
  doing: {
    waiting: _("is next"),
    training: _("is trained"),
    sending: _("is sent"),
    checked: _("is looked at"),
    compared: _("waits until another device did it, too"),
    blended: _("is part of the model"),
    overwritten: _("counts, but another result overwrote it in the model"),
    counted: _("counts: it agrees with what others sent"),
    rejected: _("does not count"),
    dropped: _("is not needed any more"),
    released: _("was given back"),
  },
  step: (step: number, steps: number) =>
    _("is trained: step %(step)s of %(steps)s", { step: number(step), steps: number(steps) }),
  newcomer: _(
    "Your device is new here. A result counts once a second device gets the same result from the same examples.",
  ),
  newcomerSoFar: (checked: number) =>
    _("%(agreeing)s. After a few more they count immediately.", { agreeing: agreeing(checked) }),
  trusted: (checked: number) =>
    _(
      "%(agreeing)s: your device is trusted, and its results count immediately. Occasionally one is still compared.",
      { agreeing: agreeing(checked) },
    ),
  sampled: (checked: number) =>
    (checked === 0 ? "" : `${agreeing(checked)}. `) +
    _(
      "Your device’s results count when they arrive. Occasionally one is first compared with others’ results on the same examples.",
    ),
  uncompared: _("Your device’s results count when they arrive: nobody repeats them for comparison."),
  quota: (quota: number) =>
    ngettext("It may do %(count)s more unit today.", "It may do %(count)s more units today.", quota),
  epoch: (epoch: number, epochs: number) =>
    _("Epoch %(epoch)s of %(epochs)s", { epoch: number(epoch), epochs: number(epochs) }),
  done: (done: number, all: number) =>
    ngettext("%(count)s of %(units)s is done", "%(count)s of %(units)s are done", done, {
      units: ngettext("%(count)s unit", "%(count)s units", all),
    }),
  atWork: (leased: number) => ngettext("%(count)s is with devices", "%(count)s are with devices", leased),
  compared: (compared: number) =>
    ngettext("%(count)s waits to be compared", "%(count)s wait to be compared", compared),
  people: (browsers: number, peers: number) =>
    _("%(browsers)s and %(peers)s take part.", {
      browsers: ngettext("%(count)s browser", "%(count)s browsers", browsers),
      peers: ngettext("%(count)s peer", "%(count)s peers", peers),
    }),
  measured: (results: number, accuracy: number | null, loss: number) =>
    accuracy === null
      ? ngettext(
          "With %(count)s result in it, the model has a loss of %(loss)s.",
          "With %(count)s results in it, the model has a loss of %(loss)s.",
          results,
          { loss: figures.loss(loss) },
        )
      : ngettext(
          "With %(count)s result in it, the model is right with %(accuracy)s of the examples that nobody trains on; its loss is %(loss)s.",
          "With %(count)s results in it, the model is right with %(accuracy)s of the examples that nobody trains on; its loss is %(loss)s.",
          results,
          { accuracy: percent(accuracy), loss: figures.loss(loss) },
        ),
};
