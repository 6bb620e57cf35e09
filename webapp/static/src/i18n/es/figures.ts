import type { Catalogue } from "..";
import { backendName } from "../en/figures";
import { decimal } from "../formatting";

const OTHERWISE: Readonly<Record<string, string>> = {
  auto: "eligiendo",
  exact: "WASM, exacto",
  "tensorflow-cuda": "TensorFlow en una GPU",
};

export const figures: Catalogue["figures"] = {
  backend: (word) => OTHERWISE[word] ?? backendName(word),
  loss: (value) => (value < 0.001 ? `menos de ${decimal(0.001)}` : decimal(value)),
};
