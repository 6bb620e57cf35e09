import { defineConfig } from "vite";
import { workerPlugins } from "../../../vite.config";

/** The harness, built like the web app: the same modules, the same kind of worker. */
export default defineConfig({
  root: "tests/support/browser/harness",
  base: "/harness/",
  publicDir: false,
  build: {
    outDir: "../../../../.cache/harness",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      input: ["index", "links"].map((page) => `tests/support/browser/harness/${page}.html`),
    },
  },
  worker: { format: "es", plugins: workerPlugins },
});
