import { BACKEND_NAMES } from "../../../core/backend";
import { milliseconds, number } from "../../formatting";
import { listed } from "../volunteers/lists";
import { shape, size } from "./figures";
import { _ } from "./gettext";

const BACKENDS: Readonly<Record<string, string>> = {
  ...BACKEND_NAMES,
  "tensorflow-cpu": "TensorFlow",
  "tensorflow-cuda": _("TensorFlow on a GPU"),
};
const DEVICES: Readonly<Record<string, string>> = {
  phone: _("A phone"),
  laptop: _("A laptop"),
  gpu: _("A graphics card"),
};
const ELIGIBLE: Readonly<Record<string, (devices: string) => string>> = {
  everywhere: (devices) => _("%(devices)s can take part", { devices }),
  "some devices": (devices) => _("%(devices)s can take part where devices are strong enough", { devices }),
  nowhere: (devices) => _("%(devices)s cannot take part", { devices }),
};

/** The step that brings the model. */
export const say = {
  replace: (title: string) => _("Take the model of “%(title)s” instead of the one that is here?", { title }),
  parameters: _("Parameters"),
  trained: (count: number, all: number) =>
    count === all
      ? number(all)
      : _("%(all)s, %(trained)s of them trained", { all: number(all), trained: number(count) }),
  memory: _("Memory of a step"),
  update: _("One volunteer sends, a round"),
  batch: _("Examples in a batch"),
  size,
  number,
  takes: (inputs: readonly (readonly number[])[], outputs: readonly (readonly number[])[], loss: string) =>
    _("An example is %(input)s; the answer is %(output)s. It is trained by %(loss)s.", {
      input: listed(inputs.map(shape)),
      output: listed(outputs.map(shape)),
      loss,
    }),
  loss: (names: readonly string[]) => listed(names).replaceAll("_", " "),
  noLoss: _("no loss"),
  checked: (worst: number) =>
    worst === 0
      ? _("Checked against Keras: predictions, losses, gradients and steps are the same.")
      : _("Checked against Keras: predictions, losses, gradients and steps differ by %(worst)s at most.", {
          worst: worst.toExponential(0),
        }),
  backends: (names: readonly string[], eligible: string, reason: string) => {
    const devices = listed(names.map((name) => BACKENDS[name] ?? name));
    const said = ELIGIBLE[eligible]?.(devices) ?? devices;
    return reason === "" ? `${said}.` : `${said}: ${reason}`;
  },
  step: (device: string, backend: string, fast: number, slow: number) =>
    _("%(device)s takes %(fast)s to %(slow)s for a batch with %(backend)s (an estimate).", {
      device: DEVICES[device] ?? device,
      fast: milliseconds(fast),
      slow: milliseconds(slow),
      backend: BACKENDS[backend] ?? backend,
    }),
};
