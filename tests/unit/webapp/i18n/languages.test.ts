import { afterEach, expect, test, vi } from "vitest";
import { en } from "../../../../webapp/static/src/i18n/en";
import { es } from "../../../../webapp/static/src/i18n/es";

const SOURCES = "../../../../webapp/static/src";

/** Parts for owners, whose pages are in English, and what is made of other words of its part. */
const ENGLISH = ["manage", "own.things"];

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** The modules of a page in this language. */
async function speaking(lang: string) {
  vi.stubGlobal("document", { documentElement: { lang } });
  vi.resetModules();
  const { say } = await import(`${SOURCES}/i18n`);
  const format = await import(`${SOURCES}/i18n/formatting`);
  return { say, format };
}

/** Every text and function of a catalogue by its name. */
function entries(part: object, path = ""): [string, unknown][] {
  return Object.entries(part).flatMap(([name, value]) => {
    const here = path === "" ? name : `${path}.${name}`;
    return typeof value === "object" ? entries(value, here) : [[here, value] as [string, unknown]];
  });
}

test("Spanish says everything for volunteers, and says it in Spanish", () => {
  const spanish = new Map(entries(es));
  const english = entries(en);
  expect([...spanish.keys()].sort()).toEqual(english.map(([name]) => name).sort());
  const same = english.filter(([name, value]) => String(value) === String(spanish.get(name)));
  const theirs = same.filter(
    ([name]) => !ENGLISH.includes(name) && !ENGLISH.includes(name.split(".")[0] ?? ""),
  );
  expect(theirs.map(([name]) => name)).toEqual([]);
});

test("a page in Spanish speaks Spanish, with its plurals and its decimal sign", async () => {
  const { say, format } = await speaking("es");
  expect(say.people.updates(1)).toBe("1 actualización");
  expect(say.people.updates(1234)).toBe("1\u202f234 actualizaciones");
  expect(say.figures.loss(0.25)).toBe("0,25");
  expect(format.percent(0.931)).toBe("93,1\u202f%");
  expect(format.milliseconds(1234)).toBe("1,2 s");
});

test("a page in a language without a catalogue speaks English", async () => {
  const { say } = await speaking("qu");
  expect(say.card.start).toBe(en.card.start);
});
