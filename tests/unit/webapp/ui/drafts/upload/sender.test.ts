import { expect, test } from "vitest";
import { type UploadPort, UrlSource } from "../../../../../../webapp/static/src/ui/drafts/upload/api";
import { hashOf } from "../../../../../../webapp/static/src/ui/drafts/upload/hash";
import { FileUpload, type UploadListener } from "../../../../../../webapp/static/src/ui/drafts/upload/sender";
import { UploadSpeed } from "../../../../../../webapp/static/src/ui/drafts/upload/speed";
import { NoAnswer, Refusal } from "../../../../../../webapp/static/src/ui/lib/api";

const CONTENT = new TextEncoder().encode("0123456789".repeat(10));
const FILE = new File([CONTENT], "ten.csv");
const HASH = "2cd2b7c1a2db9ab9a2d8ecb2d3b5a3a1";

/** A server that has `here` bytes of the file; `troubles` are thrown by its first pieces, in their order. */
function server(here = 0, ...troubles: readonly Error[]) {
  const waiting = [...troubles];
  const said: string[] = [];
  const bytes: number[] = [...CONTENT.slice(0, here)];
  const port: UploadPort = {
    begin: async (name, size, sha256) => {
      said.push(`begin ${name} ${size}${sha256 ? " with its hash" : ""}`);
    },
    offset: async (sha256) => {
      said.push(`offset of ${sha256}`);
      return bytes.length;
    },
    piece: async (offset, piece) => {
      const trouble = waiting.shift();
      if (trouble) throw trouble;
      if (offset !== bytes.length) throw new UrlSource(`Byte ${bytes.length} is due, not ${offset}.`);
      bytes.push(...new Uint8Array(await piece.arrayBuffer()));
      return bytes.length;
    },
    forget: async () => void said.push("forget"),
  };
  return { port, said, bytes };
}

function sending(port: UploadPort, tell: (told: UploadListener, one: FileUpload) => void = () => undefined) {
  const told: UploadListener[] = [];
  const made: FileUpload = new FileUpload(
    FILE,
    port,
    7,
    async (heard) => {
      heard(FILE.size);
      return HASH;
    },
    (one) => {
      told.push(one);
      tell(one, made);
    },
    "cannot be read",
    1,
  );
  const states = () => told.map(({ state }) => state).filter((state, at, all) => state !== all[at - 1]);
  return { made, told, states };
}

test("a file is announced, read for its hash, announced with it, and sent piece by piece", async () => {
  const { port, said, bytes } = server();
  const { made, states } = sending(port);
  await made.begin();
  expect(said).toEqual(["begin ten.csv 100", "begin ten.csv 100 with its hash"]);
  expect(new Uint8Array(bytes)).toEqual(CONTENT);
  expect(states()).toEqual(["reading", "sending", "done"]);
  expect(made.busy).toBe(false);
});

test("a server that is away, or elsewhere in the file, is asked how far it came", async () => {
  const { port, bytes } = server(0, new NoAnswer("away"), new NoAnswer("away"), new UrlSource("no"));
  const { made, states } = sending(port);
  await made.begin();
  expect(new Uint8Array(bytes)).toEqual(CONTENT);
  expect(states()).toEqual(["reading", "sending", "lost", "sending", "lost", "sending", "done"]);
});

test("a file whose last answer was lost is asked for by its hash", async () => {
  const { port, said } = server(100);
  expect(await sending(port).made.goOn(HASH)).toBe(true);
  expect(said).toEqual([`offset of ${HASH}`]);
  const cut = server(0, new NoAnswer("away"));
  await sending(cut.port).made.begin();
  expect(cut.said.at(-1)).toBe(`offset of ${HASH}`);
});

test("what the server refuses is told by its sentence, before the file is read where that is known", async () => {
  const { port } = server();
  const refusing = { ...port, begin: () => Promise.reject(new Refusal("ten.csv is too large.")) };
  const { made, told } = sending(refusing);
  await made.begin();
  expect(told).toEqual([{ state: "refused", bytes: 0, why: "ten.csv is too large." }]);
});

test("the same file goes on where it was, another one is not sent", async () => {
  const half = server(50);
  expect(await sending(half.port).made.goOn(HASH)).toBe(true);
  expect(new Uint8Array(half.bytes)).toEqual(CONTENT);
  const other = server(50);
  const { made, states } = sending(other.port);
  expect(await made.goOn("another hash")).toBe(false);
  expect(other.bytes.length).toBe(50);
  expect(states()).toEqual(["reading", "cancelled"]);
});

test("a pause sends nothing until it ends, and cancelling has the server forget", async () => {
  const paused = server();
  const first = sending(paused.port, ({ state, bytes }, one) => {
    if (state === "sending" && bytes === 14) one.pause();
    if (state === "paused") setTimeout(() => one.resume(), 1);
  });
  await first.made.begin();
  expect(first.states()).toEqual(["reading", "sending", "paused", "sending", "done"]);
  expect(new Uint8Array(paused.bytes)).toEqual(CONTENT);
  const ended = server();
  const second = sending(ended.port, ({ state, bytes }, one) => {
    if (state === "sending" && bytes === 14) void one.cancel();
  });
  await second.made.begin();
  expect(second.states().at(-1)).toBe("cancelled");
  expect(ended.said.at(-1)).toBe("forget");
  expect(ended.bytes.length).toBeLessThan(30);
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
