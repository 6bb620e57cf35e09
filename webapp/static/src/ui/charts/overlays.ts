/** Lays curves with different horizontal values over each other. Pure. */

import type { Points } from "./lines";
import type { CurveValue } from "./smoothing";

/** Returns one list of points with all lines of `charts`; lines have gaps where only others have points. */
export function overlay(charts: readonly Points[]): Points {
  const places = [...new Set(charts.flatMap(([first]) => first ?? []))]
    .filter((place): place is number => place !== null)
    .sort((one, other) => one - other);
  const columns = charts.flatMap(([first = [], ...lines]) => {
    const indices = new Map(first.map((place, index) => [place, index]));
    return lines.map((line) =>
      places.map((place): CurveValue => {
        const index = indices.get(place);
        return index === undefined ? null : (line[index] ?? null);
      }),
    );
  });
  return [places, ...columns];
}
