/** Starts TF.js' backends. Each is a separate chunk, fetched only when it is tried. */

import plainAddress from "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm.wasm?url";
import simdAddress from "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm?url";
import threadedAddress from "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-threaded-simd.wasm?url";
import { env, ready, setBackend } from "@tensorflow/tfjs-core";
import type { Backend } from "../core/backend";
import { limitMemory, mostBytes } from "./memory-limit";

/** At most half of the cores are used: the other half belongs to the device's user. */
const MAX_THREADS = 4;

/** How a backend starts; omitted options are chosen for this device. Only the first start of a backend counts. */
export interface StartOptions {
  /** Threads of the WASM backend. */
  readonly threads?: number;
  /** Steps of an innermost loop from which threads share a kernel's work. */
  readonly worthSharing?: number;
  /** False runs WASM without SIMD, and so without threads. */
  readonly simd?: boolean;
}

/** Waking a helper takes about as long as this many steps. */
const WORTH_SHARING = 60_000;

function sharingOf({ threads, worthSharing = WORTH_SHARING }: StartOptions) {
  const half = Math.floor(navigator.hardwareConcurrency / 2);
  return { threads: threads ?? Math.max(1, Math.min(half, MAX_THREADS)), worthSharing };
}

async function importWasm({ simd = true }: StartOptions): Promise<void> {
  const { setThreadsCount, setWasmPaths } = await import("@tensorflow/tfjs-backend-wasm");
  const { installKernels } = await import("./wasm");
  setWasmPaths({
    "tfjs-backend-wasm.wasm": plainAddress,
    "tfjs-backend-wasm-simd.wasm": simdAddress,
    "tfjs-backend-wasm-threaded-simd.wasm": threadedAddress,
  });
  if (!simd) env().set("WASM_HAS_SIMD_SUPPORT", false);
  // The compiled kernels have threads of their own; those of TF.js would spin beside them.
  setThreadsCount(1);
  installKernels();
}

const imports: Readonly<Record<Backend, (options: StartOptions) => Promise<unknown>>> = {
  webgpu: async () => {
    await import("@tensorflow/tfjs-backend-webgpu");
    (await import("./gpu")).installKernels("webgpu");
  },
  webgl: async () => {
    await import("@tensorflow/tfjs-backend-webgl");
    (await import("./gpu")).installKernels("webgl");
  },
  wasm: importWasm,
  exact: importWasm,
  cpu: () => import("@tensorflow/tfjs-backend-cpu"),
};
const imported = new Map<Backend, Promise<unknown>>();

/** Makes `backend` the current one. Returns whether it works on this device. */
export async function startBackend(backend: Backend, options: StartOptions = {}): Promise<boolean> {
  const loading = imported.get(backend) ?? imports[backend](options);
  imported.set(backend, loading);
  await loading;
  try {
    if (!(await setBackend(backend === "exact" ? "wasm" : backend))) return false;
    await ready();
    limitMemory(mostBytes());
    if (backend === "wasm") await (await import("./wasm")).startSimd(sharingOf(options), "fastest");
    if (backend === "exact") return await (await import("./wasm")).startSimd(sharingOf(options), "exact");
  } catch {
    return false;
  }
  // Half precision, the only one of some phones' textures, loses small gradients.
  return backend !== "webgl" || env().getBool("WEBGL_RENDER_FLOAT32_CAPABLE");
}

const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

function hasFastWebGL(): boolean {
  const context = new OffscreenCanvas(1, 1).getContext("webgl2");
  if (context === null) return false;
  const names = context.getExtension("WEBGL_debug_renderer_info");
  const renderer = context.getParameter(names === null ? context.RENDERER : names.UNMASKED_RENDERER_WEBGL);
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return !SOFTWARE.test(String(renderer));
}

interface AdapterInfo {
  readonly architecture?: string;
  readonly description?: string;
  readonly isFallbackAdapter?: boolean;
}

async function hasFastWebGPU(): Promise<boolean> {
  const { gpu } = navigator as Navigator & {
    gpu?: { requestAdapter(): Promise<{ readonly info?: AdapterInfo } | null> };
  };
  const adapter = await gpu?.requestAdapter().catch(() => null);
  if (adapter === null || adapter === undefined) return false;
  const { architecture = "", description = "", isFallbackAdapter = false } = adapter.info ?? {};
  return !isFallbackAdapter && !SOFTWARE.test(`${architecture} ${description}`);
}

/** Returns the backends worth timing on this device: a GPU emulated by the processor is never faster than WASM. */
export async function candidates(): Promise<Backend[]> {
  const fast: Backend[] = [];
  if (await hasFastWebGPU()) fast.push("webgpu");
  if (typeof OffscreenCanvas !== "undefined" && hasFastWebGL()) fast.push("webgl");
  return [...fast, "wasm"];
}
