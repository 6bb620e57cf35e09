import { BACKEND_NAMES } from "../../../core/backend";
import { number } from "../../formatting";
import { _, ngettext } from "./gettext";

const DEVICES: Readonly<Record<string, string>> = {
  phone: _("A phone"),
  laptop: _("A laptop"),
  gpu: _("A computer with a graphics card"),
};
const BACKENDS: Readonly<Record<string, string>> = {
  ...BACKEND_NAMES,
  "tensorflow-cpu": "TensorFlow",
  "tensorflow-cuda": _("TensorFlow with CUDA"),
};
const UNITS = ["", "kB", "MB", "GB", "TB"] as const;

/** `850 bytes`, `4.2 kB`, `130 MB`. */
function bytes(value: number): string {
  let at = 0;
  let left = value;
  while (left >= 1000 && at < UNITS.length - 1) {
    left /= 1000;
    at += 1;
  }
  if (at === 0) return ngettext("%(count)s byte", "%(count)s bytes", left);
  return `${left >= 10 ? Math.round(left) : left.toFixed(1)} ${UNITS[at]}`;
}

/** `0.4 s`, `12 s`, `3 min`, `2.5 h`. */
function time(seconds: number): string {
  if (seconds < 100) return `${short(seconds)} s`;
  return seconds < 5400 ? `${short(seconds / 60)} min` : `${short(seconds / 3600)} h`;
}

function energy(wattHours: number): string {
  if (wattHours < 1) return `${short(wattHours * 1000)} mWh`;
  return wattHours < 1000 ? `${short(wattHours)} Wh` : `${short(wattHours / 1000)} kWh`;
}

/** Two digits: no estimate knows more. */
function short(value: number): string {
  return `${Number(value.toPrecision(2))}`;
}

function range(low: number, high: number, said: (value: number) => string): string {
  return said(low) === said(high)
    ? said(low)
    : _("%(low)s to %(high)s", { low: said(low), high: said(high) });
}

/** The wizard's step `plan`. */
export const say = {
  taken: _(
    "These values were worked out from your model and your data, each for the reason that stands with it. Change what you like.",
  ),
  proposed: (count: number) =>
    ngettext(
      "%(count)s value differs from what would fit your model and data. Take them, or keep your own.",
      "%(count)s values differ from what would fit your model and data. Take them, or keep your own.",
      count,
    ),
  own: _("Set by you; proposals do not replace it. The proposal:"),
  take: (value: number | null) =>
    value === null ? _("Leave it out") : _("Take %(value)s", { value: String(value) }),
  takeFor: (value: number | null, label: string) =>
    value === null
      ? _("Leave it out: %(label)s", { label })
      : _("Take %(value)s for: %(label)s", { value: String(value), label }),
  bundle: (batch: number) => _("The model was converted for batches of %(batch)s.", { batch: number(batch) }),
  optimizer: (name: string, rate: number) =>
    _("The converted model has %(name)s with %(rate)s.", { name, rate: String(rate) }),
  convert: _("The model has to be converted again."),
  converted: _("The model is converted."),
  costs: {
    examples: _("A participant trains in a round on"),
    visits: _("In all rounds each example is seen"),
    once: _("A volunteer fetches once (program, model, examples)"),
    each: _("In each round, down and up"),
    volunteer: _("A volunteer in all"),
    server: _("The server sends in each round"),
    receives: _("The server receives in each round"),
    total: _("The server in all"),
    energy: _("Energy of a volunteer’s device in all"),
    all: _("Energy of all volunteers"),
  },
  unitCosts: {
    examples: _("A device trains in a work unit on"),
    units: _("Work units in an epoch"),
    visits: _("In all epochs each example is seen"),
    once: _("A volunteer fetches once (program, model, examples)"),
    each: _("For each unit, down and up"),
    volunteer: _("A volunteer in all"),
    server: _("The server sends in each epoch"),
    receives: _("The server receives in each epoch"),
    total: _("The server in all"),
    energy: _("Energy of a volunteer’s device in all"),
    all: _("Energy of all volunteers"),
  },
  units: (count: number, leases: number) =>
    leases === 1
      ? _("%(units)s, each done once", { units: number(count) })
      : _("%(units)s, each done %(leases)s times in the mean", {
          units: number(count),
          leases: short(leases),
        }),
  bytes,
  round: (down: number, up: number) => `${bytes(down)}, ${bytes(up)}`,
  examples: (examples: number, steps: number) =>
    [
      ngettext("%(count)s example", "%(count)s examples", examples),
      ngettext("%(count)s step", "%(count)s steps", steps),
    ].join(", "),
  energy: ([low, high]: readonly [number, number]) => range(low, high, energy),
  visits: (times: number) => ngettext("%(count)s time", "%(count)s times", times),
  device: (name: string, backend: string) => `${DEVICES[name] ?? name} (${BACKENDS[backend] ?? backend})`,
  seconds: ([low, high]: readonly [number, number]) => range(low, high, time),
  time,
  inTime: { all: _("yes"), some: _("only fast ones"), none: _("no") },
  getsUnits: { all: _("whole units"), some: _("slow ones parts"), none: _("parts of units") },
  guessed: (examples: number) =>
    ngettext(
      "Worked out for %(count)s example; once the data are cut, they are counted.",
      "Worked out for %(count)s examples; once the data are cut, they are counted.",
      examples,
    ),
};
