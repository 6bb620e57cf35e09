/**
 * Installs the compiled kernels in place of TF.js' and of the JavaScript loops, if the browser has WASM with SIMD.
 */

import {
  _FusedMatMul,
  BatchMatMul,
  backend,
  Conv2D,
  Conv2DBackpropFilter,
  Conv2DBackpropInput,
  DepthwiseConv2dNativeBackpropFilter,
  DepthwiseConv2dNativeBackpropInput,
  env,
  FusedConv2D,
  getKernel,
  Identity,
  MaxPoolGrad,
  Mean,
  Select,
  Sum,
  Tile,
  Transpose,
} from "@tensorflow/tfjs-core";
import { ELEMENTWISE } from "../../fusion";
import { BROADCAST_SELECT } from "../../ops/broadcast";
import { useRecorder } from "../../recording/recorder";
import { installKernel, type WasmBackend, type WasmKernel } from "../heap";
import { WasmRecorder } from "../recording/recorder";
import { convolution, filterGradient, inputGradient } from "./convolution";
import { depthwiseFilterGradient, depthwiseInputGradient } from "./depthwise";
import { BINARY, binary, select, UNARY, unary } from "./elementwise";
import { fused } from "./fused";
import { type KernelChoice, Machine, type Sharing } from "./kernel-module";
import { maxPoolGrad } from "./pooling";
import { product } from "./products";
import { identity, tile, transpose } from "./rearrange";
import { biasAddGrad, reduction } from "./reduction";

type Maker = (machine: Machine, original: WasmKernel) => WasmKernel;

/** Kernels by name; those that pass rare cases on get the kernel that they replace. */
const KERNELS: Readonly<Record<string, Maker>> = {
  [BatchMatMul]: product,
  [_FusedMatMul]: product,
  [Conv2D]: convolution,
  [FusedConv2D]: convolution,
  [Conv2DBackpropFilter]: filterGradient,
  [Conv2DBackpropInput]: inputGradient,
  [DepthwiseConv2dNativeBackpropFilter]: depthwiseFilterGradient,
  [DepthwiseConv2dNativeBackpropInput]: depthwiseInputGradient,
  [Identity]: identity,
  [MaxPoolGrad]: maxPoolGrad,
  [Mean]: reduction(true),
  [Select]: select,
  [Sum]: reduction(false),
  [Tile]: tile,
  [Transpose]: transpose,
  BiasAddGrad: biasAddGrad,
  ...Object.fromEntries(UNARY.map((name, op) => [name, unary(op)])),
  ...Object.fromEntries(BINARY.map((name, op) => [name, binary(op)])),
  ReluGrad: binary(BINARY.indexOf("ReluGrad"), ["dy", "x"]),
};

/** The kernels that were registered before. */
const originals = new Map<string, WasmKernel>();
let machine: Machine | null = null;
let served: { readonly backend: unknown; readonly choice: KernelChoice } | null = null;

function originalOf(name: string): WasmKernel {
  const original =
    originals.get(name) ?? (getKernel(name, "wasm")?.kernelFunc as unknown as WasmKernel | undefined);
  if (original === undefined) throw new Error(`The WASM backend has no kernel ${name}.`);
  originals.set(name, original);
  return (call) => {
    machine?.passedOn();
    return original(call);
  };
}

/**
 * Starts the compiled kernels; each time after the backend has started. Returns whether they run: without SIMD they do
 * not.
 */
export async function startSimd(sharing: Sharing, choice: KernelChoice): Promise<boolean> {
  if (!(await env().getAsync("WASM_HAS_SIMD_SUPPORT"))) return false;
  const current = backend();
  if (served?.backend === current && served.choice === choice) return true;
  served = { backend: current, choice };
  machine?.dispose();
  machine = await Machine.start(current as unknown as WasmBackend, sharing, choice);
  for (const [name, kernel] of Object.entries(KERNELS))
    installKernel(name, kernel(machine, originalOf(name)));
  installKernel(ELEMENTWISE, fused(machine));
  installKernel(BROADCAST_SELECT, select(machine, originalOf(Select)));
  const compiled = new Set([...Object.keys(KERNELS), ELEMENTWISE, BROADCAST_SELECT]);
  useRecorder(new WasmRecorder(current as unknown as WasmBackend, machine, compiled));
  return true;
}
