/** Shows the model's input for the chosen files. */

import type { CellPreview, Preview, Thumbnail } from "../../../core/messages/data-reader";
import { say } from "../../../i18n";

type PreviewKind<K extends Preview["kind"]> = Extract<Preview, { readonly kind: K }>;

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  { text, className }: { readonly text?: string; readonly className?: string } = {},
  ...children: readonly Node[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className !== undefined) made.className = className;
  made.append(...children);
  return made;
}

function note(text: string): HTMLElement {
  return element("p", { text, className: "note" });
}

function thumbnail({ path, label, width, height, pixels }: Thumbnail): HTMLElement {
  const canvas = element("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", path);
  canvas.title = path;
  canvas.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  return element("figure", {}, canvas, element("figcaption", { text: label ?? "" }));
}

function pictures({
  kind,
  thumbnails,
}: Extract<Preview, { readonly thumbnails: readonly Thumbnail[] }>): Node[] {
  const [first] = thumbnails;
  if (first === undefined) return [];
  return [
    note(
      kind === "image"
        ? say.own.asSeen(first.width, first.height)
        : say.own.asHeard(first.width, first.height),
    ),
    element("div", { className: "thumbnails" }, ...thumbnails.map(thumbnail)),
  ];
}

function cell({ raw, values }: CellPreview): HTMLElement {
  const shown = values.map((value) => Number(value.toPrecision(3))).join(" ");
  const written = element("span", { text: raw ?? say.own.emptyCell, className: raw === null ? "empty" : "" });
  return element("td", {}, written, element("small", { text: shown, className: "detail" }));
}

function rows({ columns, rows, unused }: PreviewKind<"table">): Node[] {
  if (rows.length === 0) return [];
  const heads = columns.map(({ name, became, role }) => {
    const head = element(
      "th",
      { className: role },
      element("span", { text: name }),
      element("small", { text: say.message(became), className: "detail" }),
    );
    head.scope = "col";
    return head;
  });
  const body = rows.map((row) => element("tr", {}, ...row.map(cell)));
  const table = element(
    "table",
    { className: "cells" },
    element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...body),
  );
  const scroll = element("div", { className: "scroll" }, table);
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", say.own.firstRows);
  const others = unused.length > 0 ? [note(say.own.unused(unused))] : [];
  return [note(say.own.rowsBecome), scroll, ...others];
}

function tokens({ tokens, count, unknown }: PreviewKind<"text">): Node[] {
  if (tokens.length === 0) return [];
  const marks = tokens.map(({ text, id, unknown }) => {
    const mark = element("li", { text: showWhiteSpace(text), className: unknown ? "unknown" : "" });
    mark.title = unknown ? say.own.unknownToken(id) : `${id}`;
    return mark;
  });
  const line = unknown > 0 ? say.own.tokensUnknown(count, unknown) : say.own.tokens(count);
  return [note(line), element("ol", { className: "tokens" }, ...marks)];
}

/** Replaces white space by visible signs. */
export function showWhiteSpace(text: string): string {
  return text.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "·") || "□";
}

function arrays({ arrays }: PreviewKind<"array">): Node[] {
  const items = arrays.map(({ name, what }) =>
    element("li", {}, element("strong", { text: name }), document.createTextNode(`: ${say.message(what)}`)),
  );
  return [element("ul", { className: "facts" }, ...items)];
}

/** Returns the nodes that show a preview. */
export function previewNodes(preview: Preview): Node[] {
  switch (preview.kind) {
    case "image":
    case "audio":
      return pictures(preview);
    case "table":
      return rows(preview);
    case "text":
      return tokens(preview);
    case "array":
      return arrays(preview);
  }
}
