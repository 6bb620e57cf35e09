/** The curve of all versions, drawn from the table beside it. */

import { decimal } from "../shared/format";
import { Curve } from "./chart";
import { part } from "./dom";

/** Draws the curve in `[data-curve]`; the function returned draws it again after the table changed. */
export function showVersions(): () => void {
  const curve = new Curve(part(document, "curve"), "Version", [
    {
      label: "Accuracy",
      colour: "--lake",
      side: "left",
      range: [0, 1],
      format: (value) => `${Math.round(value * 1000) / 10} %`,
    },
    { label: "Loss", colour: "--saffron", side: "right", format: decimal },
  ]);
  const draw = () => {
    const rows = [...document.querySelectorAll<HTMLElement>("tr[data-version]")].reverse();
    const column = (name: string) =>
      rows.map(({ dataset }) => (dataset[name] ? Number(dataset[name]) : null));
    curve.show([column("version"), column("accuracy"), column("loss")]);
  };
  draw();
  return draw;
}
