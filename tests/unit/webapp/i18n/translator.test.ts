import { expect, test } from "vitest";
import { Translator } from "../../../../webapp/static/src/i18n/translator";

const { gettext, ngettext } = new Translator({
  plural: (count) => Number(count > 1),
  sentences: {
    "%(who)s of %(all)s": "de %(all)s, %(who)s",
    "%(count)s of %(all)s": ["solo %(count)s de %(all)s", "hasta %(count)s de %(all)s"],
  },
});

test("placeholders are filled in the translation's order", () => {
  expect(gettext("%(who)s of %(all)s", { who: "1", all: "%(who)s" })).toBe("de %(who)s, 1");
});

test("a count chooses the form, and stands in it with its thousands apart", () => {
  const forms = [0, 1, 2000].map((count) =>
    ngettext("%(count)s of %(all)s", "%(count)s of %(all)s", count, { all: "9" }),
  );
  expect(forms).toEqual(["solo 0 de 9", "solo 1 de 9", "hasta 2\u202f000 de 9"]);
});

test("a sentence without a translation is in English, with its plurals", () => {
  expect(gettext("Stop")).toBe("Stop");
  const forms = [1, 2].map((count) => ngettext("%(count)s unit", "%(count)s units", count));
  expect(forms).toEqual(["1 unit", "2 units"]);
});

test("the compiler asks for the values of placeholders, as texts", () => {
  // @ts-expect-error A value is missing.
  gettext("%(who)s of %(all)s", { who: "1" });
  // @ts-expect-error All values are missing.
  gettext("%(who)s of %(all)s");
  // @ts-expect-error A number has to be formatted first.
  gettext("%(who)s", { who: 1 });
  // @ts-expect-error The sentence has no such placeholder.
  gettext("%(who)s", { who: "1", all: "2" });
  // @ts-expect-error Nothing is to be filled.
  gettext("Stop", { who: "1" });
  // @ts-expect-error The plural needs a value besides the count.
  ngettext("one", "%(count)s of %(all)s", 2);
});
