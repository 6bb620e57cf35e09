/** The tools above a chart: smoothing, the scale, the part that is shown, and downloads. */

import { charts } from "../../i18n/texts/owners/dashboard/charts";
import { makeButton } from "../lib/button";
import type { ChartView } from "./lines";
import { MOST_SMOOTHING } from "./smoothing";

/** What the tools do. */
export interface ChartActions {
  readonly look: (view: Partial<ChartView>) => void;
  /** Shows less (`factor` below 1) or more. */
  readonly zoom: (factor: number) => void;
  readonly move: (share: number) => void;
  readonly reset: () => void;
  readonly savePicture: () => void;
  readonly saveNumbers: () => void;
}

/** Returns the tools of the chart called `name`, and a function that enables those that apply to a range. */
export function chartTools(
  name: string,
  act: ChartActions,
): { readonly element: HTMLElement; readonly showsPart: (isPart: boolean) => void } {
  const element = document.createElement("div");
  element.className = "chart-tools";
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", charts.toolsOf(name));
  const button = (text: string, press: () => void, label: string) => {
    const made = makeButton(text, press, label);
    made.title = label;
    return made;
  };
  const ofPart = [
    button("←", () => act.move(-0.5), charts.earlier),
    button("→", () => act.move(0.5), charts.later),
    button("−", () => act.zoom(2), charts.zoomOut),
    button(charts.whole, act.reset, charts.whole),
  ];
  const zoom = document.createElement("span");
  zoom.className = "buttons";
  zoom.append(
    button("+", () => act.zoom(0.5), charts.zoomIn),
    ...ofPart,
  );
  const files = document.createElement("span");
  files.className = "buttons";
  files.append(
    button("PNG", act.savePicture, charts.savePicture),
    button("CSV", act.saveNumbers, charts.saveNumbers),
  );
  element.append(smoothing(act), logScale(act), zoom, files);
  const showsPart = (isPart: boolean) => {
    // A button that has the focus would lose it if it were disabled.
    for (const one of ofPart) one.setAttribute("aria-disabled", String(!isPart));
  };
  showsPart(false);
  return { element, showsPart };
}

function smoothing(act: ChartActions): HTMLElement {
  const element = document.createElement("span");
  element.className = "tick";
  const label = document.createElement("label");
  label.className = "tick";
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = "0";
  slider.max = String(MOST_SMOOTHING);
  slider.step = "0.01";
  slider.value = "0";
  slider.dataset.smoothing = "";
  const value = document.createElement("output");
  const show = () => {
    value.textContent = charts.weight(Number(slider.value));
    slider.setAttribute("aria-valuetext", charts.weight(Number(slider.value)));
  };
  show();
  slider.addEventListener("input", () => {
    show();
    act.look({ smoothing: Number(slider.value) });
  });
  label.append(charts.smoothing, slider);
  // The slider says its value itself.
  value.setAttribute("aria-hidden", "true");
  element.append(label, value);
  return element;
}

function logScale(act: ChartActions): HTMLElement {
  const label = document.createElement("label");
  label.className = "tick";
  const tick = document.createElement("input");
  tick.type = "checkbox";
  tick.dataset.logScale = "";
  tick.addEventListener("change", () => act.look({ isLog: tick.checked }));
  label.append(tick, charts.logScale);
  return label;
}
