/** The entry of the reader worker: owns the volunteer's files, reports on them, and gives examples to the trainer. */

import type { Examples } from "../../core/data/examples";
import type { FromReader, OwnFile, ToReader } from "../../core/messages/data-reader";
import type { TakeAnswer, TakeRequest } from "../../core/messages/local-data";
import type { DataSpec } from "../../core/preprocessing/declaration";
import { later, messageOf } from "../../core/user-messages";
import { readFiles } from "./files";
import { decodeImage } from "./images";
import { Problems, type ReadExamples, type ReadResult, reportOf } from "./result";

const scope = self as unknown as DedicatedWorkerGlobalScope;
let current: ReadExamples | null = null;
let latest = 0;

function say(message: FromReader): void {
  scope.postMessage(message);
}

async function read(id: number, data: DataSpec, files: readonly OwnFile[]): Promise<void> {
  latest = id;
  current = null;
  const total = files.length;
  const reading: ReadResult = (done) => {
    // Newer files were chosen, so this result is not needed.
    if (latest !== id) throw new Error(later("Other files were chosen."));
    say({ type: "reading", id, done, total });
  };
  const problems = new Problems();
  const understood = await readFiles(data, files, problems, reading, decodeImage);
  if (latest !== id) return;
  current = understood;
  say({ type: "report", id, report: reportOf(understood, problems, data) });
}

async function take({ part, rows }: TakeRequest): Promise<Examples> {
  if (current === null) throw new Error(later("The files are being read; start again in a moment."));
  const { split } = current;
  return current.take(rows.map((row) => split[part][row] as number));
}

function serve(port: MessagePort): void {
  port.onmessage = async ({ data }: MessageEvent<TakeRequest>) => {
    const { id } = data;
    let answer: TakeAnswer;
    try {
      answer = { type: "taken", id, examples: await take(data) };
    } catch (error) {
      answer = { type: "failed", id, problem: messageOf(error) };
    }
    port.postMessage(answer);
  };
}

scope.onmessage = ({ data }: MessageEvent<ToReader>) => {
  if (data.type === "serve") {
    serve(data.port);
    return;
  }
  const { id } = data;
  read(id, data.data, data.files).catch((error: unknown) =>
    say({ type: "failed", id, problem: messageOf(error) }),
  );
};
