/**
 * Gives tests two workers: `window.call(method, argument)` runs a method of the harness' own, which uses the modules
 * of the training worker; `window.tell(message)` talks to the training worker itself, as pages do. `window.ask` asks
 * the worker in which people try models.
 */

import { PlaygroundWorker } from "../../../../webapp/static/src/client/workers/playground-worker";
import { Trainer } from "../../../../webapp/static/src/client/workers/training-worker";
import type { Backend } from "../../../../webapp/static/src/core/backend";
import { cachedShards } from "../../../../webapp/static/src/core/data/shard-cache";
import type {
  PlaygroundQuestion,
  PlaygroundSubject,
} from "../../../../webapp/static/src/core/messages/playground";
import type {
  FromWorker,
  ToWorker,
  TrainingPlan,
} from "../../../../webapp/static/src/core/messages/training";
import { inEnglish } from "../../../../webapp/static/src/core/user-messages";
import type { StartOptions } from "../../../../webapp/static/src/engine/backends";
import type { Answer, Call } from "./messages";

interface Fragile {
  readonly origin: string;
  readonly bundle: string;
  readonly backend: Backend | null;
  readonly weights: string;
  readonly plan: TrainingPlan;
  readonly loseAt: readonly number[];
}

interface Asked {
  readonly subject: PlaygroundSubject;
  readonly versions: readonly { readonly weights: string; readonly update: readonly number[] | null }[];
  readonly question: PlaygroundQuestion;
}

declare global {
  interface Window {
    call: (method: string, argument: unknown) => Promise<unknown>;
    /** Times TF.js Layers in a third worker. */
    callLayers: (argument: unknown) => Promise<unknown>;
    /** All answers to a message, up to the one that ends its work; vectors as plain arrays. */
    tell: (
      message: Exclude<ToWorker, { type: "stop" | "own" | "forget" }>,
      /** Called at the first answer. */
      begun?: () => void,
    ) => Promise<unknown[]>;
    /** Gives the training worker these kernels of WASM; before its first message. */
    chooseKernels: (options: StartOptions, backend?: "wasm" | "exact") => Promise<boolean>;
    /** Gives the page a training worker that lies once it is told to. */
    lie: () => void;
    /** Has it change a bit in a step: of the output of a kernel, or of the weights. */
    tamper: (step: number, kernel: string | null) => void;
    stop: () => void;
    /** Addresses of the data shards that the browser keeps. */
    held: () => Promise<string[]>;
    /** The first output of each version. */
    ask: (asked: Asked) => Promise<number[][]>;
    /** Trains as pages do, and takes the graphics card away at the given steps of one attempt after the other. */
    trainFragile: (wanted: Fragile) => Promise<unknown>;
  }
}

/** A worker that answers calls, each by its number. */
function caller(worker: Worker): (method: string, argument: unknown) => Promise<unknown> {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let calls = 0;
  worker.onmessage = ({ data }: MessageEvent<Answer>) => {
    const settle = waiting.get(data.id);
    waiting.delete(data.id);
    if ("error" in data) settle?.reject(new Error(data.error));
    else settle?.resolve(data.result);
  };
  worker.onerror = (event) => {
    for (const { reject } of waiting.values()) reject(new Error(`The worker failed: ${event.message}`));
    waiting.clear();
  };
  return (method, argument) => {
    const id = ++calls;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(id, answer);
    worker.postMessage({ id, method, argument } satisfies Call);
    return answer.promise;
  };
}

window.call = caller(new Worker(new URL("./worker.ts", import.meta.url), { type: "module" }));

let layers: ((method: string, argument: unknown) => Promise<unknown>) | null = null;
window.callLayers = (argument) => {
  layers ??= caller(new Worker(new URL("./layers.ts", import.meta.url), { type: "module" }));
  return layers("times", argument);
};

window.trainFragile = async ({ origin, bundle, backend, weights, plan, loseAt }) => {
  const notices: unknown[] = [];
  const workers: Worker[] = [];
  const spawn = () => {
    const worker = new Worker(new URL("./context-loss-worker.ts", import.meta.url), { type: "module" });
    workers.push(worker);
    return worker;
  };
  const fragile = new Trainer(
    (reason, { backend: next, sliced }) => notices.push({ reason, next, sliced }),
    spawn,
  );
  const losses = [...loseAt];
  try {
    const loaded = await fragile.load(origin, bundle, backend);
    const trained = await fragile.train(weights, plan, ({ step }) => {
      if (step !== losses[0]) return;
      losses.shift();
      workers.at(-1)?.postMessage({ type: "lose" });
    });
    return { loaded, trained: plain(trained), notices };
  } catch (error) {
    return { problem: String(error), notices };
  } finally {
    fragile.terminate();
  }
};

const LAST = new Set<FromWorker["type"]>(["loaded", "trained", "measured", "kept", "fetched", "failed"]);
let trainer: Worker | null = null;

function trainingWorker(): Worker {
  trainer ??= new Worker(new URL("../../../../webapp/static/src/workers/training/main.ts", import.meta.url), {
    type: "module",
  });
  return trainer;
}

window.chooseKernels = (options, backend = "wasm") => {
  trainer = new Worker(new URL("./wasm-kernels-worker.ts", import.meta.url), { type: "module" });
  const started = Promise.withResolvers<boolean>();
  trainer.addEventListener("message", ({ data }) => started.resolve(data.started), { once: true });
  trainer.postMessage({ type: "kernels", backend, options });
  return started.promise;
};

window.lie = () => {
  trainer = new Worker(new URL("./tampering-worker.ts", import.meta.url), { type: "module" });
};

window.tamper = (step, kernel) => trainer?.postMessage({ type: "tamper", step, kernel });

/** Playwright hands plain values over only. */
function plain(message: FromWorker): unknown {
  if (message.type === "trained") {
    const [update, local, change] = [message.update, message.local, message.change].map(
      (vector) => vector && Array.from(new Float32Array(vector)),
    );
    return { ...message, update, local, change };
  }
  return message.type === "failed" ? { ...message, problem: inEnglish(message.problem) } : message;
}

/** Playwright hands plain arrays in, too. */
function withVectors(message: Parameters<Window["tell"]>[0]): ToWorker {
  const vector = (values: unknown) => Float32Array.from(values as number[]).buffer;
  if (message.type === "keep") return { ...message, change: vector(message.change) };
  const unit = message.type === "train" ? message.plan.unit : null;
  if (message.type !== "train" || !unit?.start) return message;
  const start = { ...unit.start, own: vector(unit.start.own) };
  return { ...message, plan: { ...message.plan, unit: { ...unit, start } } };
}

window.tell = (message, begun) => {
  const answer = Promise.withResolvers<unknown[]>();
  const said: unknown[] = [];
  const target = trainingWorker();
  const listen = ({ data }: MessageEvent<FromWorker>) => {
    if (data.id !== message.id) return;
    said.push(plain(data));
    if (said.length === 1) begun?.();
    if (!LAST.has(data.type)) return;
    target.removeEventListener("message", listen);
    answer.resolve(said);
  };
  target.addEventListener("message", listen);
  target.postMessage(withVectors(message));
  return answer.promise;
};

window.held = cachedShards;

window.stop = () => trainingWorker().postMessage({ type: "stop" } satisfies ToWorker);

window.ask = async ({ subject, versions, question }) => {
  const asker = new PlaygroundWorker(subject);
  try {
    const asked = versions.map(({ weights, update }) => ({
      weights,
      update: update && Float32Array.from(update).buffer,
    }));
    const { outputs } = await asker.ask(asked, question);
    return outputs.map((output) => Array.from(output));
  } finally {
    asker.terminate();
  }
};
