import { afterEach, expect, test, vi } from "vitest";
import {
  asValue,
  type FilledMessage,
  later,
  laterPlural,
} from "../../../../webapp/static/src/core/user-messages";
import { REFUSALS } from "../../../../webapp/static/src/i18n/texts/volunteers/messages/refusals";
import { scriptsOf, sentencesIn } from "./sentences";

const SOURCES = "webapp/static/src";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

async function sayIn(lang: string) {
  vi.stubGlobal("document", { documentElement: { lang } });
  vi.resetModules();
  return (await import("../../../../webapp/static/src/i18n")).say;
}

const row = later("%(path)s, row %(row)s", { path: "people.csv", row: 1234 });

test.each([
  ["en", "people.csv, row 1\u202f234"],
  ["es", "people.csv, fila 1\u202f234"],
])("a message of a worker is shown in the language %s", async (lang, text) => {
  const say = await sayIn(lang);
  expect(say.message(row)).toBe(text);
  expect(say.message(structuredClone(row))).toBe(text);
  const { UserError } = await import("../../../../webapp/static/src/core/user-messages");
  expect(say.problem(new UserError(row))).toBe(text);
});

test("messages in a message, lists and plurals are translated, names are not", async () => {
  const say = await sayIn("es");
  const expected = later("the classes are %(classes)s", { classes: ["Stop", "cat"] });
  const files = laterPlural("%(count)s file", "%(count)s files", 2, {});
  const message: FilledMessage = later(
    "No class is called '%(folder)s'; %(expected)s. Left out: %(files)s. Rename the folder, or choose the class and add them again.",
    { folder: "Stop", expected, files },
  );
  expect(say.message(message)).toBe(
    "Ninguna clase se llama «Stop»; las clases son Stop y cat. Quedan fuera: 2 archivos. Cambia el nombre de la carpeta, o elige la clase y añádelos de nuevo.",
  );
  expect(say.message(later("%(problem)s.", { problem: asValue("The group's time is over.") }))).toBe(
    "Se ha acabado el tiempo del grupo..",
  );
});

test("a message without values is looked up, and words of a browser stay as they are", async () => {
  const say = await sayIn("es");
  expect(say.problem(new Error("The model is not loaded yet; reload the page."))).toBe(
    "El modelo no está cargado todavía; recarga la página.",
  );
  expect(say.problem(new TypeError("x is undefined"))).toBe("x is undefined");
});

test("a refusal of the server is said by its code where its own words are in another language", async () => {
  const reason = "40 browsers are here, as many as this task may have.";
  expect((await sayIn("en")).refusal("busy", reason)).toBe(reason);
  expect((await sayIn("es")).refusal("busy", reason)).toBe(
    "Ya participan todos los que caben. Prueba dentro de un minuto, o elige otra tarea.",
  );
  expect((await sayIn("es")).refusal("of-tomorrow", reason)).toBe(reason);
});

test.each(Object.keys(REFUSALS))("the code %s is said in Spanish", async (code) => {
  expect((await sayIn("es")).refusal(code, "")).not.toBe("");
});

const READERS = ["core/preprocessing", "workers/data-reader", "workers/downloads", "workers/playground"];

test.each(READERS.flatMap((folder) => scriptsOf(`${SOURCES}/${folder}`)))(
  "%s throws nothing that a page cannot translate",
  (path) => {
    const texts = sentencesIn(path, undefined, true);
    expect(texts.filter((text) => text.includes(" "))).toEqual([]);
  },
);

test("why updates do not count is said in the page's language, by the code and what was found", async () => {
  const quarantined = {
    code: "quarantine",
    found: ["repetition", "left-out"],
    rounds: 3,
    reason: "The server's words.",
  };
  const es = await sayIn("es");
  expect(es.uncounted(quarantined)).toBe(
    "Tus actualizaciones no cuentan por ahora: en rondas anteriores repetían otras anteriores y la regla de la tarea las descartó. Se siguen comparando, y vuelven a contar tras 3 rondas o más en que se parezcan a las de los demás. Si tu dispositivo es honesto, prueba otro motor o pregunta a quien dirige la tarea.",
  );
  expect(es.uncounted({ ...quarantined, code: "household", found: [], rounds: 1 })).toContain(
    "tras 1 ronda en que",
  );
  expect(es.uncounted({ ...quarantined, found: ["unheard-of"] })).toBe("The server's words.");
  expect(es.uncounted({ ...quarantined, code: "new" })).toBe("The server's words.");
  const en = await sayIn("en");
  expect(en.uncounted({ ...quarantined, found: [] })).toContain("in earlier rounds they looked false.");
});
