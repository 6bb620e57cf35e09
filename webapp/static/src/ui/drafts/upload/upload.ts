/** Brings a file: chosen or dropped, sent in pieces, paused, taken up again after a cut, a reload or another day. */

import { say } from "../../../i18n/owners/upload";
import { trying } from "../../lib/api";
import { part, write } from "../../lib/dom";
import type { Frame } from "../frame";
import type { FileKind } from "../record";
import { portOf } from "./api";
import { hashOf } from "./hash";
import { Sending, type Told } from "./sender";
import { Pace } from "./speed";

const RUNNING = ["reading", "sending", "lost"];

/** Binds `drafts/_upload.html` for the file `kind`. */
export function bindUpload(frame: Frame, kind: FileKind): void {
  const root = part(document, `upload-${kind}`);
  const input = part<HTMLInputElement>(root, "upload-file");
  const anew = part<HTMLButtonElement>(root, "upload-anew");
  const port = portOf(frame.address, kind);
  let sending: Sending | null = null;
  let state: Told["state"] = "done";
  let waiting: File | null = null;

  /** What is here, or partly here, while nothing is on its way from this page. */
  function rest(): void {
    if (RUNNING.includes(state) || state === "paused") return;
    const { uploads, files } = frame.draft();
    const partly = uploads[kind];
    const stored = files[kind];
    const cut = partly !== undefined && partly.offset > 0;
    part(root, "upload-forget").hidden = !cut;
    part(root, "upload-way").hidden = true;
    part(root, "upload-drop").hidden = false;
    if (cut) write(part(root, "upload-line"), say.partly(partly.name, partly.offset, partly.bytes));
    else write(part(root, "upload-line"), stored ? say.here(stored.name, stored.bytes) : say.none);
  }

  function refuse(why: string, file: File | null = null): void {
    write(part(root, "upload-problem"), why);
    waiting = file;
    anew.hidden = file === null;
  }

  function choose(file: File): void {
    refuse("");
    const partly = frame.draft().uploads[kind];
    if (partly === undefined || partly.offset === 0) {
      void send(file, (one) => one.begin());
      return;
    }
    // A name may have been changed; with a hash the content decides.
    const same = file.size === partly.bytes && (partly.sha256 !== null || file.name === partly.name);
    if (same) void send(file, (one) => goOn(one, file, partly.sha256));
    else refuse(say.other(partly.name, partly.bytes), file);
  }

  async function goOn(one: Sending, file: File, sha256: string | null): Promise<void> {
    if (!(await one.goOn(sha256))) refuse(say.changed(file.name), file);
  }

  async function send(file: File, how: (one: Sending) => Promise<void>): Promise<void> {
    const pace = new Pace();
    sending = new Sending(
      file,
      port,
      frame.draft().piece_bytes,
      (heard, signal) => hashOf(file, heard, signal),
      (told) => {
        if (told.state !== state) pace.forget();
        state = told.state;
        show(root, file, told, pace);
        if (told.state === "refused") refuse(told.why);
      },
      say.unreadable(file.name),
    );
    await how(sending);
    sending = null;
    // Why it was refused is to be read until another is chosen.
    const why = part(root, "upload-problem").textContent;
    await trying(part(root, "upload-problem"), () => frame.refresh());
    if (why !== "") write(part(root, "upload-problem"), why);
    rest();
  }

  const take = () => {
    const [file] = input.files ?? [];
    // The same file may be chosen again after a refusal.
    input.value = "";
    if (file) choose(file);
  };
  input.disabled = false;
  input.addEventListener("change", take);
  bindDrop(part(root, "upload-drop"), choose, () => refuse(say.folder));
  anew.addEventListener("click", () => {
    const file = waiting;
    refuse("");
    if (file) void send(file, (one) => one.begin());
  });
  part(root, "upload-pause").addEventListener("click", () => sending?.pause());
  part(root, "upload-resume").addEventListener("click", () => sending?.resume());
  part(root, "upload-cancel").addEventListener("click", () => {
    void trying(part(root, "upload-problem"), async () => {
      await sending?.cancel();
      await frame.refresh();
    });
  });
  part(root, "upload-forget").addEventListener("click", () => {
    void trying(part(root, "upload-problem"), async () => {
      await port.forget();
      await frame.refresh();
    });
  });
  addEventListener("online", () => sending?.hurry());
  addEventListener("beforeunload", (event) => {
    if (RUNNING.includes(state)) event.preventDefault();
  });
  frame.onChange(rest);
  rest();
  // Chosen before this script was there, or kept by the browser over a reload.
  take();
}

function show(root: HTMLElement, file: File, { state, bytes }: Told, pace: Pace): void {
  const moving = state === "reading" || state === "sending";
  const under = moving || state === "lost" || state === "paused";
  part(root, "upload-way").hidden = !under;
  part(root, "upload-drop").hidden = under;
  part(root, "upload-pause").hidden = state !== "sending" && state !== "lost";
  part(root, "upload-resume").hidden = state !== "paused";
  if (state === "cancelled") write(part(root, "upload-line"), say.cancelled);
  if (!under) return;
  write(part(root, "upload-line"), say[state](file.name));
  part<HTMLProgressElement>(root, "upload-progress").value = file.size === 0 ? 0 : bytes / file.size;
  if (moving) pace.mark(performance.now() / 1000, bytes);
  const { rate } = pace;
  write(
    part(root, "upload-figures"),
    say.figures(bytes, file.size, moving ? rate : null, moving ? pace.left(file.size - bytes) : null),
  );
}

function bindDrop(place: HTMLElement, choose: (file: File) => void, folder: () => void): void {
  place.addEventListener("dragover", (event) => {
    event.preventDefault();
    place.classList.add("over");
  });
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("over");
    const [item] = event.dataTransfer?.items ?? [];
    const file = item?.getAsFile();
    if (item?.webkitGetAsEntry()?.isDirectory) folder();
    else if (file) choose(file);
  });
}
