import type { Backend } from "../../core/backend";
import { part } from "../lib/dom";

const BACKENDS: readonly Backend[] = ["webgpu", "webgl", "wasm", "cpu"];

function known(word: string | null): Backend | null {
  return BACKENDS.find((backend) => backend === word) ?? null;
}

/** Takes over the choice in the address and returns a function that reads the present one; null means any. */
export function backendChoice(root: HTMLElement): () => Backend | null {
  const radios = [...part(root, "backends").querySelectorAll<HTMLInputElement>("input")];
  const wanted = known(new URLSearchParams(location.search).get("backend"));
  for (const radio of radios) {
    if (wanted) radio.checked = radio.value === wanted;
  }
  return () => known(radios.find((radio) => radio.checked)?.value ?? null);
}
