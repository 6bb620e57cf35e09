/** Chooses the picture of a draft, or of a task in a private test, or uploads one. */

import { say } from "../../i18n/texts/owners/about";
import { requestJson, sendFile, showRefusal } from "../lib/api";
import { requireElement, setText } from "../lib/dom";

/** The answer of `/api/tasks/{name}/picture`, and of a draft's (docs/reference/http.md). */
interface ShownPicture {
  readonly kind: "drawn" | "uploaded" | "woven";
  readonly tag: string;
  readonly text: string;
  readonly uploaded: boolean;
}

const MAX_BYTES = 5_000_000;

/** Binds the section; the returned function resolves once the latest change is saved or refused. */
export function bindPicture(root: HTMLElement): () => Promise<void> {
  const address = root.dataset.picture ?? "";
  const form = requireElement<HTMLFormElement>(root, "picture-form");
  const file = requireElement<HTMLInputElement>(form, "picture-file");
  const text = requireElement<HTMLInputElement>(form, "picture-text");
  let latest = Promise.resolve();
  const change = (work: () => Promise<unknown>) => {
    latest = latest.then(() => save(root, address, work));
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", ({ target }) => {
    if (target === text) change(() => requestJson("PATCH", address, { text: text.value.trim() }));
    else if (target === file) change(() => upload(root, address, file));
    else change(() => requestJson("PATCH", address, { kind: new FormData(form).get("picture") }));
  });
  return () => latest;
}

/** Does the work and shows its answer; after a refusal the form shows the picture that the task still has. */
async function save(root: HTMLElement, address: string, work: () => Promise<unknown>): Promise<void> {
  const problem = requireElement(root, "picture-problem");
  let answer: unknown = null;
  await showRefusal(problem, async () => {
    answer = await work();
  });
  const refused = problem.textContent;
  if (refused) {
    await showRefusal(problem, async () => {
      answer = await requestJson("GET", address);
    });
    setText(problem, refused);
  }
  if (answer !== null) show(root, answer as ShownPicture);
}

async function upload(root: HTMLElement, address: string, input: HTMLInputElement): Promise<unknown> {
  const busy = requireElement(root, "picture-busy");
  const file = input.files?.[0];
  if (!file) return null;
  if (file.size > MAX_BYTES) {
    setText(requireElement(root, "picture-problem"), say.pictureTooLong);
    return null;
  }
  setText(busy, say.readingPicture);
  try {
    return await sendFile(address, file);
  } finally {
    setText(busy, "");
    // The same file can be chosen again once it is mended.
    input.value = "";
  }
}

function show(root: HTMLElement, picture: ShownPicture): void {
  const image = requireElement<HTMLImageElement>(root, "picture-image");
  image.hidden = picture.tag === "";
  image.alt = picture.text;
  if (picture.tag !== "") image.src = `${root.dataset.pictureSource ?? ""}?v=${picture.tag}`;
  requireElement(root, "picture-woven").hidden = picture.kind !== "woven";
  requireElement(root, "picture-words").hidden = picture.kind !== "uploaded";
  requireElement<HTMLInputElement>(root, "picture-text").value = picture.text;
  for (const choice of root.querySelectorAll<HTMLInputElement>('input[name="picture"]')) {
    choice.checked = choice.value === picture.kind;
    if (choice.value === "uploaded") choice.disabled = !picture.uploaded;
  }
}
