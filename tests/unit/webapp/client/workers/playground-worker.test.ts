import { expect, test } from "vitest";
import { PlaygroundWorker } from "../../../../../webapp/static/src/client/workers/playground-worker";
import type {
  FromPlaygroundWorker,
  PlaygroundSubject,
  ToPlaygroundWorker,
} from "../../../../../webapp/static/src/core/messages/playground";

const SUBJECT: PlaygroundSubject = { origin: "http://localhost", bundle: "b".repeat(64), preprocess: null };
const QUESTION = { kind: "values", values: [1, 2, 3] } as const;

/** The browser's end of a worker: what it was told, and what it says when the test says so. */
class Far {
  readonly told: ToPlaygroundWorker[] = [];
  ended = false;
  onmessage: ((event: MessageEvent<FromPlaygroundWorker>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  postMessage(message: ToPlaygroundWorker): void {
    this.told.push(message);
  }
  terminate(): void {
    this.ended = true;
  }
  answer(): void {
    const id = this.told.flatMap((message) => ("id" in message ? [message.id] : [])).at(-1) ?? 0;
    const data: FromPlaygroundWorker = { type: "answered", id, outputs: [], picture: null, lacking: [] };
    this.onmessage?.({ data } as MessageEvent<FromPlaygroundWorker>);
  }
  fail(message: string): void {
    this.onerror?.({ message } as ErrorEvent);
  }
}

function asker() {
  const workers: Far[] = [];
  const spawn = () => {
    workers.push(new Far());
    return workers.at(-1) as unknown as Worker;
  };
  return { asker: new PlaygroundWorker(SUBJECT, spawn), workers };
}

test("a worker is started at the first question, and opens the model before it is asked", async () => {
  const { asker: own, workers } = asker();
  expect(workers).toHaveLength(0);
  const answer = own.ask([], QUESTION);
  expect(workers[0]?.told.map(({ type }) => type)).toEqual(["open", "ask"]);
  workers[0]?.answer();
  expect((await answer).type).toBe("answered");
});

test("whoever waits on a worker that fails is told why, and the next question has a worker that works", async () => {
  const { asker: own, workers } = asker();
  const [one, other] = [own.ask([], QUESTION), own.ask([], QUESTION)];
  workers[0]?.fail("no memory");
  await expect(one).rejects.toThrow("The model could not be started: no memory.");
  await expect(other).rejects.toThrow("no memory");
  expect(workers[0]?.ended).toBe(true);
  const answer = own.ask([], QUESTION);
  expect(workers[1]?.told.map(({ type }) => type)).toEqual(["open", "ask"]);
  // A late word of the first one ends nothing.
  workers[0]?.fail("again");
  workers[1]?.answer();
  expect((await answer).type).toBe("answered");
});

test("who waits when the model is put away is told", async () => {
  const { asker: own } = asker();
  const answer = own.ask([], QUESTION);
  own.terminate();
  await expect(answer).rejects.toThrow("ask it again");
});
