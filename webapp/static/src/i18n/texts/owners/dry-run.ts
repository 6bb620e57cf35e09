import { decimal, milliseconds } from "../../formatting";
import { figures } from "../volunteers/figures";
import { _, ngettext } from "./gettext";

/** The step `trial`: what the server's step and those of browsers came to. */
export const say = {
  absent: _("Not in this browser."),
  agrees: _("Right"),
  begins: _("Begins."),
  differs: _("Wrong"),
  failed: _("Failed"),
  lacks: _("Not there"),
  late: _("It took longer than three minutes and was ended."),
  left: _("Left out. Press “Try again” to come back to it."),
  onTheirDevice: _("Volunteers bring data of their own; each device checks them before it trains."),
  outdated: _("before a change"),
  reading: _("Fetches the first shard and reads it as a volunteer’s browser does."),
  running: _("Takes the server’s step."),
  silent: _("It failed and did not say why."),
  waiting: _("Comes after the server’s step."),
  waitingHere: _("Comes next."),
  /** A backend as its makers write it, and the data. */
  what: (what: string) => (what === "data" ? _("The data") : figures.backend(what)),
  keras: (difference: number) =>
    difference === 0
      ? _("They agree: the outputs of Keras and of the converted model are the same to the last digit.")
      : _(
          "They agree: the outputs of Keras and of the converted model differ by %(difference)s of their length at most.",
          { difference: small(difference) },
        ),
  native: (real: boolean, loss: number, after: number, norm: number, stepMs: number) =>
    _(
      "A step on %(what)s took %(time)s here and changed the loss from %(loss)s to %(after)s. The gradient has the length %(norm)s.",
      {
        what: real ? _("your examples") : _("noise"),
        time: milliseconds(stepMs),
        loss: decimal(loss),
        after: decimal(after),
        norm: decimal(norm),
      },
    ),
  timed: (text: string, stepMs: number) =>
    _("%(text)s A step took %(time)s.", { text, time: milliseconds(stepMs) }),
  now: (what: string, left: number) =>
    left === 0
      ? _("%(what)s: the last check.", { what })
      : ngettext("%(what)s. %(count)s check more.", "%(what)s. %(count)s checks more.", left, { what }),
  /** All checks of this browser are through. */
  over: (right: number, wrong: number) => {
    if (wrong > 0)
      return ngettext(
        "Done. %(count)s backend of this browser took a different step than the server.",
        "Done. %(count)s backends of this browser took a different step than the server.",
        wrong,
      );
    if (right === 0) return _("Done. No backend of this browser could take the step.");
    return ngettext(
      "Done. %(count)s backend of this browser took the same step as the server.",
      "Done. %(count)s backends of this browser took the same step as the server.",
      right,
    );
  },
};

/** One digit behind all the zeros: `0.0000003`. */
function small(value: number): string {
  return value.toFixed(Math.min(Math.max(0, -Math.floor(Math.log10(value))), 20));
}
