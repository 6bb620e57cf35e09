// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hashOf } from "../../../../../../webapp/static/src/ui/drafts/upload/hash";
import { FileUpload, type UploadListener } from "../../../../../../webapp/static/src/ui/drafts/upload/sender";
import { UploadSpeed } from "../../../../../../webapp/static/src/ui/drafts/upload/speed";
import { TusServer } from "./tus-server";

const CONTENT = new TextEncoder().encode("0123456789".repeat(10));
const FILE = new File([CONTENT], "ten.csv");
const HASH = "2cd2b7c1a2db9ab9a2d8ecb2d3b5a3a1";
const ADDRESS = "/files/data";

let server: TusServer;

beforeEach(() => {
  server = new TusServer(ADDRESS);
  vi.stubGlobal("XMLHttpRequest", server.requests());
});

afterEach(() => vi.unstubAllGlobals());

function sending(tell: (told: UploadListener, one: FileUpload) => void = () => undefined) {
  const told: UploadListener[] = [];
  const made: FileUpload = new FileUpload(
    FILE,
    ADDRESS,
    7,
    async (heard, signal) => {
      signal.throwIfAborted();
      heard(FILE.size);
      return HASH;
    },
    (one) => {
      told.push(one);
      tell(one, made);
    },
    "cannot be read",
    Array<number>(50).fill(1),
  );
  const states = () => told.map(({ state }) => state).filter((state, at, all) => state !== all[at - 1]);
  return { made, told, states };
}

test("a file is announced, read for its hash, announced with it, and sent piece by piece", async () => {
  const { made, states } = sending();
  await made.begin();
  const [first, second, ...pieces] = server.log;
  expect([first, second]).toEqual([
    `POST 100 ${JSON.stringify({ filename: "ten.csv" })}`,
    `POST 100 ${JSON.stringify({ filename: "ten.csv", sha256: HASH })}`,
  ]);
  expect(pieces).toEqual(Array.from({ length: 15 }, (_, piece) => `PATCH 2 ${7 * piece}`));
  expect(new Uint8Array(server.bytes)).toEqual(CONTENT);
  expect(states()).toEqual(["reading", "sending", "done"]);
});

test("a server that is away, or elsewhere in the file, is asked how far it came", async () => {
  server.troubles.PATCH.push(0, 503, 409);
  const { made, states } = sending();
  await made.begin();
  expect(new Uint8Array(server.bytes)).toEqual(CONTENT);
  expect(states()).toEqual(["reading", "sending", "lost", "sending", "lost", "sending", "done"]);
  expect(server.log.filter((line) => line.startsWith("HEAD"))).toHaveLength(3);
});

test("a piece of which a part arrived goes on behind that part", async () => {
  server.cutAfter = 3;
  const { made } = sending();
  await made.begin();
  expect(server.log).toContain("PATCH 2 3");
  expect(new Uint8Array(server.bytes)).toEqual(CONTENT);
});

test("a server that is away at the announcement is waited for", async () => {
  server.troubles.POST.push(0, 502);
  const { made, states } = sending();
  await made.begin();
  expect(states()).toEqual(["lost", "reading", "sending", "done"]);
});

test("a file whose last answer was lost is asked for at its address", async () => {
  server.begin("u1", 100, CONTENT);
  const { made, states } = sending();
  expect(await made.goOn("u1", HASH)).toBe(true);
  expect(server.log).toEqual(["HEAD u1"]);
  expect(states().at(-1)).toBe("done");
});

test("what the server refuses is told by its sentence, before the file is read where that is known", async () => {
  server.troubles.POST.push(413);
  const { made, told } = sending();
  await made.begin();
  expect(told).toEqual([{ state: "refused", bytes: 0, why: "Refused by 413." }]);
  server.troubles.PATCH.push(422);
  const later = sending();
  await later.made.begin();
  expect(later.told.at(-1)).toEqual({ state: "refused", bytes: 0, why: "Refused by 422." });
  const gone = sending();
  await gone.made.goOn("another", HASH);
  expect(gone.states().at(-1)).toBe("refused");
});

test("the same file goes on where it was, another one is not sent", async () => {
  server.begin("u1", 100, CONTENT.slice(0, 50));
  const other = sending();
  expect(await other.made.goOn("u1", "another hash")).toBe(false);
  expect(server.log).toEqual([]);
  expect(other.states()).toEqual(["reading", "cancelled"]);
  expect(await sending().made.goOn("u1", HASH)).toBe(true);
  expect(server.log.slice(0, 2)).toEqual(["HEAD u1", "PATCH u1 50"]);
  expect(new Uint8Array(server.bytes)).toEqual(CONTENT);
});

test("a pause sends nothing until it ends", async () => {
  let pauses = 0;
  const { made, states } = sending(({ state, bytes }, one) => {
    if (state === "sending" && bytes === 14 && pauses++ === 0) one.pause();
    if (state === "paused") setTimeout(() => one.resume(), 20);
  });
  await made.begin();
  expect(states()).toEqual(["reading", "sending", "paused", "sending", "done"]);
  expect(new Uint8Array(server.bytes)).toEqual(CONTENT);
});

test("cancelling has the server forget, while the file is sent or read", async () => {
  for (const moment of ["sending", "reading"]) {
    server = new TusServer(ADDRESS);
    vi.stubGlobal("XMLHttpRequest", server.requests());
    let ended: Promise<void> | null = null;
    const { made, states } = sending(({ state, bytes }, one) => {
      if (state === moment && (bytes === 14 || state === "reading")) ended ??= one.cancel();
    });
    await made.begin();
    await ended;
    expect(states().at(-1)).toBe("cancelled");
    expect(server.log.at(-1)).toMatch(/^DELETE/);
    expect(server.bytes.length).toBeLessThan(30);
  }
});

test("a network that is back ends the wait for the next try", async () => {
  server.troubles.PATCH.push(0);
  const made: FileUpload = new FileUpload(
    FILE,
    ADDRESS,
    50,
    async () => HASH,
    ({ state }) => state === "lost" && setTimeout(() => made.hurry(), 1),
    "cannot be read",
    [1_000_000],
  );
  await made.begin();
  expect(new Uint8Array(server.bytes)).toEqual(CONTENT);
});

test("a hash is made of pieces, as of the whole", async () => {
  const heard: number[] = [];
  const large = new Blob([new Uint8Array(9 << 20).fill(7)]);
  const digest = await hashOf(large, (bytes) => void heard.push(bytes), new AbortController().signal);
  const whole = await crypto.subtle.digest("SHA-256", await large.arrayBuffer());
  expect(digest).toBe(Buffer.from(whole).toString("hex"));
  expect(heard).toEqual([4 << 20, 8 << 20, 9 << 20]);
  const ended = new AbortController();
  ended.abort();
  await expect(hashOf(large, () => undefined, ended.signal)).rejects.toThrow();
});

test("the pace is that of the last seconds", () => {
  const pace = new UploadSpeed();
  expect([pace.rate, pace.left(10)]).toEqual([null, null]);
  for (let at = 0; at <= 100; at += 1) pace.mark(at, at < 50 ? 10 * at : 500 + 2 * (at - 50));
  expect(pace.rate).toBeCloseTo(2);
  expect(pace.left(10)).toBeCloseTo(5);
  pace.forget();
  expect(pace.rate).toBeNull();
});
