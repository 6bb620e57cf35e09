/** The form in which a task describes itself: texts for volunteers, licences, and statements on data and people. */

import { say } from "../../i18n/texts/owners/about";
import { requestJson, showRefusal } from "../lib/api";
import { requireElement, setText } from "../lib/dom";
import { parseHtml } from "../lib/parse-html";
import type { DraftChange } from "./autosave";
import { type DraftRecord, type DraftTable, isTable, type Value } from "./record";
import { showChecks } from "./review/checklist";

const PREVIEW_MS = 400;

/** What the form needs of what it describes: a draft, or a task in a private test. */
export interface DescriptionFrame {
  /** The address of the API, under which `/preview` renders a text. */
  readonly address: string;
  draft(): Pick<DraftRecord, "id" | "task" | "checklist">;
  /** Saves a change soon, together with others; resolves once it is saved or refused, which the page shows. */
  save(change: DraftChange): Promise<void>;
  onChange(call: () => void): void;
}

export function bindDescription(frame: DescriptionFrame): void {
  const form = requireElement<HTMLFormElement>(document, "about");
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const field of form.querySelectorAll<DescriptionField>("[data-key]")) {
    field.addEventListener("input", () => void frame.save({ task: changeOf(field) }));
  }
  for (const kind of form.querySelectorAll<HTMLElement>("[data-licence]")) bindLicence(kind, frame);
  bindPeople(form);
  bindText(form, frame);
  suggestBasis(form, frame);
  const checks = requireElement(form, "checks");
  const show = () => showChecks(checks, frame.draft(), (item) => item.step === "about");
  frame.onChange(show);
  show();
}

type DescriptionField = HTMLInputElement | HTMLTextAreaElement;

/** Returns the value of a field as a change of the task file: its key is a path, and an empty value removes it. */
function changeOf(field: DescriptionField): DraftTable {
  const keys = (field.dataset.key ?? "").split(".");
  return keys.reduceRight<Value>((inner, key) => ({ [key]: inner }), textOf(field)) as DraftTable;
}

function textOf(field: DescriptionField): Value {
  const text = field.value.trim();
  switch (field.dataset.key) {
    case "topics":
      return [...new Set(text.split(",").map((topic) => topic.trim()))].filter((topic) => topic !== "");
    case "ethics.sensitive":
      return text === "yes";
    case "title":
      return text;
    default:
      return text === "" ? null : text;
  }
}

function bindLicence(root: HTMLElement, frame: DescriptionFrame): void {
  const licences = requireElement<HTMLSelectElement>(root, "licence-known");
  const other = requireElement(root, "licence-other");
  const text = other.querySelector("input") as HTMLInputElement;
  const words = requireElement(root, "licence-words");
  const show = () => {
    other.hidden = licences.value !== "other";
    setText(words, licences.selectedOptions[0]?.dataset.words ?? "");
  };
  const change = () => {
    show();
    const licence = licences.value === "other" ? text.value.trim() : licences.value;
    void frame.save({ task: { licence: { [root.dataset.licence ?? ""]: licence === "" ? null : licence } } });
  };
  licences.addEventListener("input", change);
  text.addEventListener("input", change);
  show();
}

/** Shows the questions about people only if the data are about people. */
function bindPeople(form: HTMLFormElement): void {
  const further = requireElement(form, "with-people");
  form.addEventListener("input", () => {
    const chosen = new FormData(form).get("people");
    further.hidden = chosen !== "anonymous" && chosen !== "recognisable";
  });
}

/** If volunteers bring data of their own, there is one sensible answer: it is filled in, and can be changed. */
function suggestBasis(form: HTMLFormElement, frame: DescriptionFrame): void {
  const { data, consent } = frame.draft().task;
  const own = isTable(data) && data.source === "volunteer";
  if (!own || (isTable(consent) && consent.basis !== undefined)) return;
  const choice = form.querySelector<HTMLInputElement>('[name="basis"][value="volunteers"]');
  if (choice) choice.checked = true;
  void frame.save({ task: { consent: { basis: "volunteers" } } });
}

function bindText(form: HTMLFormElement, frame: DescriptionFrame): void {
  const text = requireElement<HTMLTextAreaElement>(form, "readme");
  const preview = requireElement(form, "preview");
  let timer = 0;
  let newest = 0;
  const draw = async () => {
    newest += 1;
    const number = newest;
    const problem = requireElement(document, "problem");
    await showRefusal(problem, async () => {
      const answer = await requestJson("POST", `${frame.address}/preview`, { readme: text.value });
      if (number === newest) show(preview, (answer as { html: string }).html);
    });
  };
  text.addEventListener("input", () => {
    void frame.save({ readme: text.value });
    clearTimeout(timer);
    timer = window.setTimeout(() => void draw(), PREVIEW_MS);
  });
  void draw();
}

/** Shows sanitised HTML: the server's renderer removes everything that could run. */
function show(place: HTMLElement, html: string): void {
  const { body } = parseHtml(html);
  place.replaceChildren(...body.childNodes);
  if (place.textContent?.trim() === "") place.replaceChildren(say.noText);
}
