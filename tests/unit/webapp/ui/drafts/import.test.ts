import { expect, test } from "vitest";
import { nextName } from "../../../../../webapp/static/src/ui/drafts/import";

test("a new version is proposed the next number, within what a name may be", () => {
  expect(["cats", "cats-2", "cats-2026", "cats-x", "cats-9999999"].map(nextName)).toEqual([
    "cats-2",
    "cats-3",
    "cats-2027",
    "cats-x-2",
    "cats-9999999-2",
  ]);
});
