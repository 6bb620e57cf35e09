import { expect, test } from "vitest";
import { scriptsOf, sentencesIn } from "./sentences";

const SOURCES = "webapp/static/src";

test.each(["ui", "entries", "i18n/texts"].flatMap((folder) => scriptsOf(`${SOURCES}/${folder}`)))(
  "%s says nothing that bypasses the catalogue",
  (path) => {
    expect(sentencesIn(path)).toEqual([]);
  },
);

test("a sentence that bypasses the catalogue is found", () => {
  const script = `
    import "./Some thing.";
    write(line, "The address is copied.");
    write(line, \`Reading: \${done} of \${total} files\`);
    label("Trend");
    const name = "task-card", path = \`/tasks/\${name}\`;
    write(line, _("It is %(what)s.", { what: known ? _("Known here") : "Not yet known" }));
    throw new Error("This is for developers.");
  `;
  expect(sentencesIn("page.ts", script)).toEqual([
    "The address is copied.",
    "Reading: 1 of 1 files",
    "Trend",
    "Not yet known",
  ]);
});
