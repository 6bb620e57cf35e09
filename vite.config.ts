import { defineConfig, type Plugin } from "vite";
import { exactFile } from "./vite.exact.ts";
import { wasmKernels } from "./vite.kernels.ts";
import { translations } from "./vite.translations.ts";

/** The program of a headless peer, which finds its hashed name in manifest.json. */
const HEADLESS = "webapp/static/src/workers/headless/main.ts";
/** One entry a page; templates find the hashed names in manifest.json. */
const PAGES = [
  "access",
  "account",
  "draft",
  "drafts",
  "gallery",
  "join",
  "manage",
  "mesh",
  "rounds",
  "sign-in",
  "task",
  "train",
  "units",
  "version",
];

const THREAD_SCRIPT =
  /new Blob\(\[`var WasmBackendModuleThreadedSimd = ` \+\s*\w+\.toString\(\)\], \{[^}]*\}\)/;

/**
 * TF.js starts WASM threads from a script it prints into a blob, which a strict content security policy refuses to
 * import. They start from an emitted file instead.
 */
function wasmThreads(): Plugin {
  return {
    name: "minga:wasm-threads",
    transform(code, id) {
      if (!id.endsWith("tfjs-backend-wasm/dist/backend_wasm.js")) return null;
      if (!THREAD_SCRIPT.test(code))
        throw new Error("TF.js starts its WASM threads in a new way: adapt wasmThreads.");
      return (
        'import threadScript from "../wasm-out/tfjs-backend-wasm-threaded-simd.js?url";\n' +
        code.replace(THREAD_SCRIPT, "new URL(threadScript, self.location.href).href")
      );
    },
  };
}

/** WebKit evaluates a worker's entry once more for a file that imports from it, with a state of its own. */
function entriesApart(): Plugin {
  return {
    name: "minga:entries-apart",
    generateBundle(_, files) {
      const chunks = Object.values(files).filter((file) => file.type === "chunk");
      const entries = chunks.filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName);
      for (const { fileName, imports } of chunks) {
        const entry = entries.find((name) => imports.includes(name));
        if (entry)
          this.error(`${fileName} imports from ${entry}, a worker's entry: let that import it late.`);
      }
    },
  };
}

/** Plugins of everything that runs in a worker. */
export const workerPlugins = () => [wasmThreads(), wasmKernels(), entriesApart()];

export default defineConfig({
  base: "/static/dist/",
  publicDir: false,
  plugins: [translations(), exactFile("headless")],
  build: {
    outDir: "webapp/static/dist",
    emptyOutDir: true,
    manifest: "manifest.json",
    target: "es2022",
    // Inlined assets would be data: addresses, which the pages' content security policy refuses to load.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // TF.js' larger parts are one chunk each; only those who use them load them.
    chunkSizeWarningLimit: 1500,
    rolldownOptions: {
      // Where the build spends its time says nothing to those who only want it built.
      checks: { pluginTimings: false },
      // A page has the groups of sentences that it says, and no others.
      treeshake: { moduleSideEffects: [{ test: /\/i18n\/texts\//, sideEffects: false }] },
      input: {
        ...Object.fromEntries(PAGES.map((name) => [name, `webapp/static/src/entries/${name}.ts`])),
        headless: HEADLESS,
      },
    },
  },
  worker: {
    format: "es",
    plugins: workerPlugins,
    rolldownOptions: { checks: { pluginTimings: false } },
  },
});
