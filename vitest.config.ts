import { defineConfig } from "vitest/config";
import { translations } from "./vite.translations.ts";

// Milliseconds, far more than anything takes on a slow machine that does other things as well.
const PATIENCE = 300_000;

export default defineConfig({
  // Pages have its build for browsers, Node.js would get another one.
  resolve: { alias: { "tus-js-client": "tus-js-client/lib.esm/browser/index.js" } },
  plugins: [translations()],
  test: {
    server: { deps: { inline: ["tus-js-client"] } },
    include: ["tests/{unit,property}/webapp/**/*.test.ts"],
    environment: "node",
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
    // Of the pure floors, in percent. `npm test -- --coverage.reporter=text` lists the lines that no test reaches.
    coverage: {
      include: ["webapp/static/src/{core,i18n,protocol}/**/*.ts"],
      exclude: [
        "**/i18n/{index.ts,texts/**}", // Texts; scripts/translations.py checks them.
        "**/core/data/{shard-cache,storage}.ts", // Storage of the browser; tests/e2e has one.
        "**/core/messages/*.ts", // Types, as the next ones.
        "**/{events,*-events,declaration,bundle}.ts",
      ],
      reporter: ["text-summary"],
      reportsDirectory: ".cache/coverage",
      thresholds: { statements: 94, branches: 90, functions: 93, lines: 95 },
    },
  },
});
