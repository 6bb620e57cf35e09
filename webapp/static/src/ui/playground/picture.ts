/** A chosen or dropped picture, as a question. */

import type { Thumbnail } from "../../core/messages/data-reader";
import { requireElement } from "../lib/dom";
import type { QuestionForm } from "./question";

/** Longest side of the preview, in pixels. */
const PREVIEW = 224;

/** Asks as soon as there is a picture. Returns a function that shows the model's input. */
export function bindPicture(widget: HTMLElement, { ask }: QuestionForm): (picture: Thumbnail | null) => void {
  const input = requireElement<HTMLInputElement>(widget, "picture");
  const area = requireElement(widget, "drop");
  const show = async (file: File): Promise<void> => {
    ask({ kind: "picture", file });
    requireElement(widget, "seen").hidden = !(await drawWhole(
      requireElement<HTMLCanvasElement>(widget, "whole"),
      file,
    ));
  };
  input.addEventListener("change", () => {
    const [file] = input.files ?? [];
    // The same file can be chosen again.
    input.value = "";
    if (file) void show(file);
  });
  area.addEventListener("dragover", (event) => {
    event.preventDefault();
    area.classList.add("over");
  });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    const [file] = event.dataTransfer?.files ?? [];
    if (file) void show(file);
  });
  return (picture) => {
    if (picture === null) return;
    const canvas = requireElement<HTMLCanvasElement>(widget, "canvas");
    const { pixels, width, height } = picture;
    [canvas.width, canvas.height] = [width, height];
    canvas.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  };
}

/** Draws the picture; returns whether this browser can decode it. For others the worker reports the problem. */
async function drawWhole(canvas: HTMLCanvasElement, file: Blob): Promise<boolean> {
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (bitmap === null) return false;
  const scale = Math.min(1, PREVIEW / Math.max(bitmap.width, bitmap.height));
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return true;
}
