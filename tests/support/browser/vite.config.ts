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
    manifest: "manifest.json",
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      input: ["index.html", "links.html", "headless.ts"].map(
        (name) => `tests/support/browser/harness/${name}`,
      ),
    },
  },
  worker: { format: "es", plugins: workerPlugins },
});
