import type { Backend } from "../../core/backend";
import { requireElement } from "../lib/dom";

const BACKENDS: readonly Backend[] = ["webgpu", "webgl", "wasm", "exact", "cpu"];

function backendOf(word: string | null): Backend | null {
  return BACKENDS.find((backend) => backend === word) ?? null;
}

/**
 * Sets the choice from the address and returns a function that reads the current one; null means any. A task that
 * requires the same bits of all devices leaves no choice.
 */
export function backendChoice(root: HTMLElement): () => Backend | null {
  if (root.dataset.exact === "required") return () => "exact";
  const radios = [...requireElement(root, "backends").querySelectorAll<HTMLInputElement>("input")];
  const preselected = backendOf(new URLSearchParams(location.search).get("backend"));
  for (const radio of radios) {
    if (preselected) radio.checked = radio.value === preselected;
  }
  return () => backendOf(radios.find((radio) => radio.checked)?.value ?? null);
}
