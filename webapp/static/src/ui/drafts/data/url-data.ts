/** Data that volunteers' devices download: their address, and whether a browser can download from there. */

import { fetchFiles } from "../../../client/session/url-data";
import { megabytes } from "../../../i18n/formatting";
import { say } from "../../../i18n/texts/owners/url-data";
import { requireElement, setText } from "../../lib/dom";
import type { DraftFrame } from "../frame";
import { type DraftRecord, type DraftTable, isTable, type StoredFile, tableAt } from "../record";

/** Behind the # of the address after a reload that allows this page to reach the host. */
const TRY = "#try";

export function bindAddress(frame: DraftFrame): void {
  const section = requireElement(document, "address-card");
  const field = requireElement<HTMLInputElement>(section, "address");
  const button = requireElement<HTMLButtonElement>(section, "address-try");
  const line = requireElement(section, "address-line");
  // The last value from the draft; any other value in the field was typed and is not saved.
  let written = field.value;

  function show(draft: DraftRecord): void {
    const address = addressOf(draft);
    const stored = draft.files.data;
    button.disabled = address === "" || stored === undefined;
    if (document.activeElement === field || (field.value !== written && field.value !== address)) return;
    field.value = written = address;
    if (line.dataset.tried === `${address} ${stored?.sha256}`) return;
    tell(stored === undefined ? say.bring : address === "" ? "" : say.untried);
  }

  function tell(text: string, wrong = false): void {
    line.classList.toggle("lacking", wrong);
    setText(line, text);
  }

  async function tryIt(stored: StoredFile): Promise<void> {
    const address = addressOf(frame.draft());
    const { host, origin } = new URL(address);
    if (section.dataset.may !== origin) {
      // A page reaches only hosts that its content security policy names, and the policy is sent with the page.
      await frame.flush();
      location.hash = TRY;
      location.reload();
      return;
    }
    button.disabled = true;
    line.dataset.tried = `${address} ${stored.sha256}`;
    let received = 0;
    const onBytes = (bytes: number): void => {
      received += bytes;
      tell(say.trying(megabytes(received), megabytes(stored.bytes)));
    };
    onBytes(0);
    const file = { address, sha256: stored.sha256, bytes: stored.bytes, name: stored.name };
    try {
      await fetchFiles([file], {
        pageHost: location.hostname,
        signal: new AbortController().signal,
        onBytes,
      });
      tell(say.good(host));
    } catch (problem) {
      tell(say.bad(problem instanceof Error ? problem.message : String(problem)), true);
    }
    button.disabled = false;
  }

  field.disabled = false;
  field.addEventListener("change", () => {
    if (field.value !== "" && !field.validity.valid) {
      tell(say.wrong, true);
      return;
    }
    const [before] = filesOf(frame.draft());
    const files = field.value === "" ? null : [{ ...before, address: field.value }];
    void frame.save({ task: { data: { url: files && { files } } } });
  });
  button.addEventListener("click", () => {
    const stored = frame.draft().files.data;
    if (stored) void tryIt(stored);
  });
  frame.onChange(show);
  show(frame.draft());
  if (location.hash === TRY) {
    history.replaceState(null, "", location.pathname);
    const stored = frame.draft().files.data;
    if (stored && !button.disabled) void tryIt(stored);
  }
}

function filesOf(draft: DraftRecord): DraftTable[] {
  const { files } = tableAt(draft.task, "data", "url");
  return Array.isArray(files) ? files.filter(isTable) : [];
}

function addressOf(draft: DraftRecord): string {
  const address = filesOf(draft)[0]?.address;
  return typeof address === "string" ? address : "";
}
