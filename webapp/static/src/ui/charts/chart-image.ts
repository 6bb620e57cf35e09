/** Makes a picture of a chart with its title and legend, in the colours of the page. */

import type { CurveLine } from "./lines";

const FONT = "system-ui, sans-serif";
const MARGIN = 12;
const ROW = 22;

/** Returns the picture of `canvas` as PNG. `colour` returns the colour of a custom property. */
export async function chartImage(
  canvas: HTMLCanvasElement,
  title: string,
  lines: readonly CurveLine[],
  colour: (property: string) => string,
): Promise<Blob> {
  const scale = devicePixelRatio;
  const width = canvas.width / scale + 2 * MARGIN;
  const picture = document.createElement("canvas");
  const context = picture.getContext("2d");
  if (!context) throw new Error("The browser gives no canvas.");
  context.font = `13px ${FONT}`;
  const rows = legendRows(
    lines.map(({ label }) => context.measureText(label).width + 2 * MARGIN + 10),
    width - 2 * MARGIN,
  );
  const legendTop = MARGIN + ROW + canvas.height / scale;
  picture.width = width * scale;
  picture.height = (legendTop + rows.length * ROW + MARGIN) * scale;

  context.scale(scale, scale);
  context.fillStyle = colour("--surface");
  context.fillRect(0, 0, width, picture.height);
  context.textBaseline = "middle";
  context.fillStyle = colour("--text");
  context.font = `600 14px ${FONT}`;
  context.fillText(title, MARGIN, MARGIN + ROW / 2, width - 2 * MARGIN);
  context.drawImage(canvas, MARGIN, MARGIN + ROW, canvas.width / scale, canvas.height / scale);
  context.font = `13px ${FONT}`;
  rows.forEach((row, index) => {
    const middle = legendTop + (index + 0.5) * ROW;
    for (const { entry, left } of row) {
      const line = lines[entry];
      if (!line) continue;
      context.fillStyle = colour(line.colour);
      context.fillRect(MARGIN + left, middle - 5, 10, 10);
      context.fillStyle = colour("--text-muted");
      context.fillText(line.label, MARGIN + left + 16, middle);
    }
  });
  const blob = await new Promise<Blob | null>((resolve) => picture.toBlob(resolve));
  if (!blob) throw new Error("The picture is too large.");
  return blob;
}

/** Returns the entries of a legend by rows of at most `width`, each with its distance from the left. */
export function legendRows(
  widths: readonly number[],
  width: number,
): { readonly entry: number; readonly left: number }[][] {
  const rows: { entry: number; left: number }[][] = [];
  let left = 0;
  widths.forEach((wide, entry) => {
    const row = rows.at(-1);
    if (!row || left + wide > width) {
      rows.push([{ entry, left: 0 }]);
      left = wide;
    } else {
      row.push({ entry, left });
      left += wide;
    }
  });
  return rows;
}
