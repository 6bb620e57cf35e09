import { decimal, number } from "../../../formatting";
import { _ } from "../gettext";

/** What stands at charts and long tables of a dashboard. */
export const charts = {
  smoothing: _("Smoothing"),
  weight: (weight: number) => decimal(weight),
  logScale: _("Logarithmic"),
  zoomIn: _("Zoom in"),
  zoomOut: _("Zoom out"),
  earlier: _("Move to the left"),
  later: _("Move to the right"),
  whole: _("Show all"),
  savePicture: _("Save the picture as PNG"),
  saveNumbers: _("Save the numbers as CSV"),
  smoothed: (label: string) => _("%(label)s, smoothed", { label }),
  toolsOf: (chart: string) => _("Tools of the chart: %(chart)s", { chart }),
  valuesOf: (chart: string) => _("Values of the chart: %(chart)s", { chart }),
  /** A curve of another task. */
  ofTask: (label: string, task: string) => `${task}: ${label}`,
  unreachable: (task: string) => _("The figures of %(task)s could not be fetched.", { task }),
  unmeasured: (task: string) => _("%(task)s has no measured versions yet.", { task }),
  previous: _("Previous"),
  next: _("Next"),
  pagesOf: (table: string) => _("Pages: %(table)s", { table }),
  rows: (first: number, last: number, all: number) =>
    _("%(first)s to %(last)s of %(all)s", { first: number(first), last: number(last), all: number(all) }),
  others: _("other reasons"),
  refusals: _("Refusals by hour"),
};
