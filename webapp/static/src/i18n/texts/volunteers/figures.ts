import { BACKEND_NAMES } from "../../../core/backend";
import { decimal } from "../../formatting";
import { _ } from "./gettext";

const BACKENDS: Readonly<Record<string, string>> = {
  auto: _("choosing"),
  ...BACKEND_NAMES,
  exact: _("WASM, exact"),
  "tensorflow-cpu": "TensorFlow",
  "tensorflow-cuda": _("TensorFlow on a GPU"),
};

/** A backend's name as its makers write it. */
export function backendName(word: string): string {
  return BACKENDS[word] ?? word;
}

export const figures = {
  backend: backendName,
  /** A loss inside a sentence; one that rounds to nothing is still no bare zero. */
  loss: (value: number) => (value < 0.001 ? _("below %(least)s", { least: decimal(0.001) }) : decimal(value)),
};
