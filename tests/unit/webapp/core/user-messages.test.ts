import { describe, expect, test } from "vitest";
import { DataProblem } from "../../../../webapp/static/src/core/preprocessing/data-problem";
import {
  asValue,
  inEnglish,
  later,
  laterPlural,
  messageOf,
  UserError,
} from "../../../../webapp/static/src/core/user-messages";

describe("a message in English", () => {
  test("has its values in place of the placeholders", () => {
    const inner = later("it must be a number", {});
    const message = later("'%(name)s' of %(names)s: %(count)s, %(inner)s", {
      name: "%(count)s",
      names: ["cat", "dog", "bird"],
      count: 12345,
      inner,
    });
    expect(inEnglish(message)).toBe("'%(count)s' of cat, dog and bird: 12345, it must be a number");
  });

  test.each([
    [0, "0 files"],
    [1, "1 file"],
    [2, "2 files"],
  ])("of %i things has the form for it", (count, text) => {
    expect(inEnglish(laterPlural("%(count)s file", "%(count)s files", count, {}))).toBe(text);
  });

  test("lists no more than ten names", () => {
    const names = Array.from("abcdefghijkl");
    expect(inEnglish(later("%(names)s", { names }))).toBe("a, b, c, d, e, f, g, h, i, j and 2 more");
  });
});

describe("an error", () => {
  test("has its message in English, and keeps what a page translates", () => {
    const problem = new DataProblem(later("Row %(row)s", { row: 3 }));
    expect(problem).toBeInstanceOf(UserError);
    expect(problem.message).toBe("Row 3");
    expect(messageOf(problem)).toEqual({ english: "Row %(row)s", values: { row: 3 } });
  });

  test.each([
    [new RangeError("Out of range"), "Out of range"],
    ["a word", "a word"],
  ])("of a browser is said in its own words", (error, text) => {
    expect(messageOf(error)).toBe(text);
  });

  test("arrives from a worker as it was sent", () => {
    const sent = laterPlural("%(count)s file: %(problem)s", "%(count)s files: %(problem)s", 2, {
      problem: asValue("It is left out."),
    });
    expect(structuredClone(sent)).toEqual(sent);
  });
});
