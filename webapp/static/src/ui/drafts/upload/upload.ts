/**
 * Uploads a file that is chosen or dropped: in pieces, with pauses, resumed after an interruption, a reload or a day.
 */

import { say } from "../../../i18n/texts/owners/upload";
import { showRefusal } from "../../lib/api";
import { requireElement, setText } from "../../lib/dom";
import type { DraftFrame } from "../frame";
import type { DraftUpload, FileKind } from "../record";
import { discard } from "./api";
import { hashOf } from "./hash";
import { FileUpload, type UploadListener } from "./sender";
import { UploadSpeed } from "./speed";

const RUNNING = ["reading", "sending", "lost"];

/** Binds `drafts/_upload.html` for the file `kind`. */
export function bindUpload(frame: DraftFrame, kind: FileKind): void {
  const root = requireElement(document, `upload-${kind}`);
  const input = requireElement<HTMLInputElement>(root, "upload-file");
  const restartButton = requireElement<HTMLButtonElement>(root, "upload-restart");
  const address = `${frame.address}/files/${kind}`;
  let sending: FileUpload | null = null;
  let state: UploadListener["state"] = "done";
  let waiting: File | null = null;

  /** Shows what is uploaded, completely or in part, while this page sends nothing. */
  function rest(): void {
    if (RUNNING.includes(state) || state === "paused") return;
    const { uploads, files } = frame.draft();
    const partly = uploads[kind];
    const stored = files[kind];
    const cut = partly !== undefined && partly.offset > 0;
    requireElement(root, "upload-forget").hidden = !cut;
    requireElement(root, "upload-way").hidden = true;
    requireElement(root, "upload-drop").hidden = false;
    if (cut)
      setText(requireElement(root, "upload-line"), say.partly(partly.name, partly.offset, partly.bytes));
    else
      setText(requireElement(root, "upload-line"), stored ? say.here(stored.name, stored.bytes) : say.none);
  }

  function refuse(why: string, file: File | null = null): void {
    setText(requireElement(root, "upload-problem"), why);
    waiting = file;
    restartButton.hidden = file === null;
  }

  function choose(file: File): void {
    refuse("");
    const partly = frame.draft().uploads[kind];
    if (partly === undefined || partly.offset === 0) {
      void send(file, (one) => one.begin());
      return;
    }
    // The file may have been renamed; if the hash is known, the content decides.
    const same = file.size === partly.bytes && (partly.sha256 !== null || file.name === partly.name);
    if (same) void send(file, (one) => goOn(one, file, partly));
    else refuse(say.other(partly.name, partly.bytes), file);
  }

  async function goOn(one: FileUpload, file: File, { id, sha256 }: DraftUpload): Promise<void> {
    if (!(await one.goOn(id, sha256))) refuse(say.changed(file.name), file);
  }

  async function send(file: File, how: (one: FileUpload) => Promise<void>): Promise<void> {
    const pace = new UploadSpeed();
    sending = new FileUpload(
      file,
      address,
      frame.draft().piece_bytes,
      (hashed, signal) => hashOf(file, hashed, signal),
      (status) => {
        if (status.state !== state) pace.forget();
        state = status.state;
        show(root, file, status, pace);
        if (status.state === "refused") refuse(status.why);
      },
      say.unreadable(file.name),
    );
    await how(sending);
    sending = null;
    // The reason of a refusal stays visible until another file is chosen.
    const why = requireElement(root, "upload-problem").textContent;
    await showRefusal(requireElement(root, "upload-problem"), () => frame.refresh());
    if (why !== "") setText(requireElement(root, "upload-problem"), why);
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
  bindDrop(requireElement(root, "upload-drop"), choose, () => refuse(say.folder));
  restartButton.addEventListener("click", () => {
    const file = waiting;
    refuse("");
    if (file) void send(file, (one) => one.begin());
  });
  requireElement(root, "upload-pause").addEventListener("click", () => sending?.pause());
  requireElement(root, "upload-resume").addEventListener("click", () => sending?.resume());
  requireElement(root, "upload-cancel").addEventListener("click", () => {
    void showRefusal(requireElement(root, "upload-problem"), async () => {
      await sending?.cancel();
      await frame.refresh();
    });
  });
  requireElement(root, "upload-forget").addEventListener("click", () => {
    void showRefusal(requireElement(root, "upload-problem"), async () => {
      await discard(`${address}/${frame.draft().uploads[kind]?.id}`);
      await frame.refresh();
    });
  });
  addEventListener("online", () => sending?.hurry());
  addEventListener("beforeunload", (event) => {
    if (RUNNING.includes(state)) event.preventDefault();
  });
  frame.onChange(rest);
  rest();
  // The file was chosen before this script ran, or kept by the browser over a reload.
  take();
}

function show(root: HTMLElement, file: File, { state, bytes }: UploadListener, pace: UploadSpeed): void {
  const moving = state === "reading" || state === "sending";
  const under = moving || state === "lost" || state === "paused";
  requireElement(root, "upload-way").hidden = !under;
  requireElement(root, "upload-drop").hidden = under;
  requireElement(root, "upload-pause").hidden = state !== "sending" && state !== "lost";
  requireElement(root, "upload-resume").hidden = state !== "paused";
  if (state === "cancelled") setText(requireElement(root, "upload-line"), say.cancelled);
  if (!under) return;
  setText(requireElement(root, "upload-line"), say[state](file.name));
  requireElement<HTMLProgressElement>(root, "upload-progress").value =
    file.size === 0 ? 0 : bytes / file.size;
  if (moving) pace.mark(performance.now() / 1000, bytes);
  const { rate } = pace;
  setText(
    requireElement(root, "upload-figures"),
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
