import { expect, test } from "vitest";
import { say } from "../../../../webapp/static/src/i18n";
import {
  compact,
  decimal,
  milliseconds,
  number,
  percent,
  seconds,
} from "../../../../webapp/static/src/i18n/formatting";

test.each([
  [number(1234567), "1\u202f234\u202f567"],
  [number(999), "999"],
  [percent(0.9312), "93.1\u202f%"],
  [percent(null), "–"],
  [compact(12), "12"],
  [compact(4500), "4.5 thousand"],
  [compact(3.4e9), "3.4 billion"],
  [compact(1.23e12), "1.2 trillion"],
  [
    say.card.earlierVisits(2, 1200, 3.4e9),
    "From earlier visits, 2 contributions of this device count. It learned from 1\u202f200 examples. " +
      "That took about 3.4 billion calculations.",
  ],
  [decimal(0.137832), "0.1378"],
  [decimal(2), "2"],
  [say.figures.loss(0.25), "0.25"],
  [say.figures.loss(0), "below 0.001"],
  [milliseconds(0.42), "0.4 ms"],
  [milliseconds(163.4), "163 ms"],
  [milliseconds(1234), "1.2 s"],
  [seconds(3.2), "4 s"],
  [seconds(-1), "0 s"],
  [say.figures.backend("webgl"), "WebGL"],
  [say.figures.backend("abacus"), "abacus"],
])("%s reads well", (text, expected) => {
  expect(text).toBe(expected);
});
