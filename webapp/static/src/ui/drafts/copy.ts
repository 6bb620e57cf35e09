/** A copy of a draft, under another name. */

import { ask } from "../lib/api";
import { part } from "../lib/dom";
import { onSubmit } from "../lib/forms";
import type { Frame } from "./frame";

export function bindCopy(frame: Frame): void {
  const form = part<HTMLFormElement>(document, "copy-form");
  onSubmit(form, part(document, "copy-problem"), async (data) => {
    await frame.flush();
    const made = await ask("POST", `${frame.address}/clone`, { name: data.get("name") });
    location.assign(`/drafts/${(made as { id: string }).id}`);
  });
}
