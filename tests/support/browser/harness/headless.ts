/** Runs the harness' worker in Node.js: calls come from standard input, answers go to standard output. */

import { FrameReader, frameOf } from "../../../../webapp/static/src/workers/headless/frames";
import { becomeWorker, type NodeProcess } from "../../../../webapp/static/src/workers/headless/worker-scope";
import worker from "./worker?worker&url";

const { process } = globalThis as unknown as { process: NodeProcess };

function post(message: object): void {
  process.stdout.write(frameOf(message));
}

becomeWorker(process, () => Promise.resolve(null), post);
await import(/* @vite-ignore */ new URL(worker.slice(worker.lastIndexOf("/") + 1), import.meta.url).href);

const scope = globalThis as unknown as { onmessage(event: { data: unknown }): void };
const reader = new FrameReader();
process.stdin.on("data", (piece) => {
  for (const call of reader.add(piece)) scope.onmessage({ data: call });
});
process.stdin.on("end", () => process.exit(0));
post({ type: "ready" });
