import { expect, test } from "vitest";
import { chartRows, toCsv } from "../../../../../webapp/static/src/ui/charts/csv";

const line = (label: string) => ({ label, colour: "--progress", side: "left" as const, format: String });
const POINTS = [
  [1, 2, 3],
  [0.5, null, 0.25],
  [null, null, null],
];
const smoothed = (label: string) => `${label} (smoothed)`;

test("numbers keep their decimal point, and what is unknown is empty", () => {
  const rows = chartRows("Version", [line("Loss"), line("Left behind")], POINTS, null, 0, smoothed);
  expect(toCsv(rows)).toBe("Version,Loss\r\n1,0.5\r\n2,\r\n3,0.25\r\n");
});

test("the shown range is written, and smoothed values beside the others", () => {
  const rows = chartRows("Version", [line("Loss")], POINTS, [1.5, 3], 0.5, smoothed);
  expect(rows).toEqual([
    ["Version", "Loss", "Loss (smoothed)"],
    [2, null, null],
    [3, 0.25, (0.5 * 0.25 + 0.25 * 0.5) / 0.75],
  ]);
});

test("a range without points gives only the header", () => {
  expect(chartRows("Version", [line("Loss")], POINTS, [7, 9], 0, smoothed)).toEqual([["Version", "Loss"]]);
});

test("texts are quoted, and never formulas", () => {
  expect(toCsv([['say "so"', "a,b", "=1+1", "-x", "@y"]])).toBe('"say ""so""","a,b",\'=1+1,\'-x,\'@y\r\n');
});

test("a negative number stays a number", () => {
  expect(toCsv([[-1.5, Number.NaN, null]])).toBe("-1.5,,\r\n");
});
