/** The op layer: ops that TF.js' graph executor lacks or computes incorrectly. */

import { registerOp } from "@tensorflow/tfjs-converter";
import { tidy } from "@tensorflow/tfjs-core";
import { activation } from "./activation";
import { broadcast } from "./broadcast";
import { conversion } from "./convert";
import { convolution } from "./convolution";
import { image } from "./image";
import { linear } from "./linear";
import { loss } from "./loss";
import { pooling } from "./pooling";
import { reduction } from "./reduction";
import { segment } from "./segment";
import { shape } from "./shape";
import { slicing } from "./slicing";
import { special } from "./special";
import { volume } from "./volume";

const FAMILIES = [
  activation,
  broadcast,
  conversion,
  convolution,
  image,
  linear,
  loss,
  pooling,
  reduction,
  segment,
  shape,
  slicing,
  special,
  volume,
];

/** Registers every op with the executor; once per worker, before the first graph is loaded. */
export function registerOps(): void {
  for (const family of FAMILIES) {
    for (const [name, op] of Object.entries(family)) {
      registerOp(name, (node) => tidy(() => op(node)));
    }
  }
}
