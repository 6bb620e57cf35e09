import { expect, test } from "vitest";
import { next } from "../../../../../webapp/static/src/ui/drafts/import";

test("a new version is proposed the next number, within what a name may be", () => {
  expect(["cats", "cats-2", "cats-2026", "cats-x", "cats-9999999"].map(next)).toEqual([
    "cats-2",
    "cats-3",
    "cats-2027",
    "cats-x-2",
    "cats-9999999-2",
  ]);
});
