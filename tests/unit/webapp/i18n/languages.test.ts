import { readFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { type Catalogue, Translator } from "../../../../webapp/static/src/i18n/translator";

const SOURCES = "../../../../webapp/static/src";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.doUnmock(`${SOURCES}/i18n/catalogues`);
  vi.resetModules();
});

interface Build {
  scriptSentences(whom: string): ReadonlySet<string>;
  compiledCatalogue(path: string, english: ReadonlySet<string>): string;
}

const build = (await import(`${process.cwd()}/vite.translations.ts`)) as Build;

/** A catalogue as the plugin compiles it. */
async function catalogue(path: string, whom: string): Promise<Catalogue> {
  return (await import(`${process.cwd()}/${path}?texts=${whom}`)).default;
}

/** The modules of a page in this language. */
async function speaking(lang: string) {
  vi.stubGlobal("document", { documentElement: { lang } });
  vi.resetModules();
  const { say } = await import(`${SOURCES}/i18n`);
  const format = await import(`${SOURCES}/i18n/formatting`);
  return { say, format };
}

test.each(["volunteers", "owners"])(
  "Spanish has every sentence of scripts for %s, and no other",
  async (whom) => {
    const { sentences } = await catalogue("webapp/locales/es.po", whom);
    expect(Object.keys(sentences).sort()).toEqual([...build.scriptSentences(whom)].sort());
    expect(readFileSync("webapp/locales/es.po", "utf8")).toContain('msgid "Take part"');
  },
);

test("a page in Spanish speaks Spanish, with its plurals and its decimal sign", async () => {
  const { say, format } = await speaking("es");
  expect(say.people.updates(1)).toBe("1 actualización");
  expect(say.people.updates(1234)).toBe("1\u202f234 actualizaciones");
  expect(say.units.people(1, 3)).toBe("Participan 1 navegador y 3 nodos.");
  expect(say.figures.loss(0.25)).toBe("0,25");
  expect(format.percent(0.931)).toBe("93,1\u202f%");
  expect(format.milliseconds(1234)).toBe("1,2 s");
});

test("an owner's page in Spanish speaks Spanish", async () => {
  await speaking("es");
  const { manage } = await import(`${SOURCES}/i18n/texts/owners/dashboard/manage`);
  expect(manage.ofEpochs.training(3)).toBe("Trabajando en la época 3");
});

test("a page in a language without a catalogue speaks English", async () => {
  const { say } = await speaking("qu");
  expect(say.card.start).toBe("Start training");
  expect(say.units.counting(1)).toBe("1 unit of yours counts.");
  expect(say.units.counting(0)).toBe("0 units of yours count.");
});

test.each([
  [0, "0 jednostek"],
  [1, "1 jednostkę"],
  [2, "2 jednostki"],
  [5, "5 jednostek"],
  [12, "12 jednostek"],
  [22, "22 jednostki"],
  [112, "112 jednostek"],
])("a language with three plural forms has the right one for %i", async (count, units) => {
  const polish = await catalogue("tests/unit/webapp/i18n/pl.po", "volunteers");
  vi.doMock(`${SOURCES}/i18n/catalogues`, () => ({ pageTranslator: async () => new Translator(polish) }));
  const { say } = await speaking("pl");
  expect(say.units.finishing(count)).toBe(`Twoje urządzenie kończy ${units}, potem się zatrzyma.`);
  expect(say.card.stop).toBe("Zatrzymaj");
});

test("sentences of templates are not in a script's catalogue", async () => {
  const { sentences } = await catalogue("tests/unit/webapp/i18n/pl.po", "volunteers");
  expect(Object.keys(sentences)).toHaveLength(15);
  expect(sentences).not.toHaveProperty("Take part");
});

test("a catalogue with too few plural forms does not compile", () => {
  expect(() =>
    build.compiledCatalogue("tests/unit/webapp/i18n/incomplete.po", new Set(["%(count)s unit"])),
  ).toThrow('"%(count)s unit" has 2 plural forms instead of 3');
});
