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
  "describe",
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

/** The pool of TF.js' threads: eight workers, for each of which its start waits. */
const THREADS = [
  ["pthreadPoolSize=8", "pthreadPoolSize=0"],
  [
    'PThread.unusedWorkers.forEach(function(w){PThread.loadWasmModuleToWorker(w,function(){if(!--numWorkersToLoad)removeRunDependency("wasm-instantiate")})})',
    'removeRunDependency("wasm-instantiate")',
  ],
] as const;

/**
 * The compiled kernels have threads of their own, and TF.js is told to use one. Without this it starts eight workers
 * that never get work; in Firefox one of them sometimes never began, and the training with it.
 */
function noWasmThreads(): Plugin {
  return {
    name: "minga:no-wasm-threads",
    transform(code, id) {
      if (!id.endsWith("wasm-out/tfjs-backend-wasm-threaded-simd.js")) return null;
      return THREADS.reduce((changed, [old, replacement]) => {
        if (!changed.includes(old))
          throw new Error("TF.js starts its WASM threads in a new way: adapt noWasmThreads.");
        return changed.replace(old, replacement);
      }, code);
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
export const workerPlugins = () => [noWasmThreads(), wasmKernels(), entriesApart()];

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
