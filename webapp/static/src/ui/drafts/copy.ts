/** Copies a draft under another name. */

import { requestJson } from "../lib/api";
import { requireElement } from "../lib/dom";
import { onSubmit } from "../lib/forms";
import type { DraftFrame } from "./frame";

export function bindCopy(frame: DraftFrame): void {
  const form = requireElement<HTMLFormElement>(document, "copy-form");
  onSubmit(form, requireElement(document, "copy-problem"), async (data) => {
    await frame.flush();
    const made = await requestJson("POST", `${frame.address}/clone`, { name: data.get("name") });
    location.assign(`/drafts/${(made as { id: string }).id}`);
  });
}
