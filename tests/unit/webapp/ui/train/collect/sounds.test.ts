// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AudioSpec } from "../../../../../../webapp/static/src/core/preprocessing/declaration";
import { Microphone } from "../../../../../../webapp/static/src/ui/train/collect/microphone";
import { SoundTools } from "../../../../../../webapp/static/src/ui/train/collect/sound-tools";
import { decodeRecordings } from "../../../../../../webapp/static/src/ui/train/local-data/decode-audio";

const RULE = { kind: "audio", rate: 4000, seconds: 0.05 } as AudioSpec;

/** A recorder that gives one part and stops when it is told to, or when the stream's track ends. */
class FakeRecorder extends EventTarget {
  state = "inactive";
  readonly mimeType = "audio/webm";

  constructor(readonly stream: FakeStream) {
    super();
    stream.ended = () => this.stop();
  }

  start(): void {
    this.state = "recording";
    queueMicrotask(() => this.dispatchEvent(new Event("start")));
  }

  stop(): void {
    if (this.state === "inactive") return;
    this.state = "inactive";
    this.dispatchEvent(Object.assign(new Event("dataavailable"), { data: new Blob(["opus"]) }));
    this.dispatchEvent(new Event("stop"));
  }
}

class FakeStream {
  ended = () => {};
  getTracks() {
    return [{ stop: () => this.ended() }];
  }
}

/** Decodes everything but "broken" into two channels of four samples. */
class FakeContext {
  constructor(
    readonly channels: number,
    readonly length: number,
    readonly rate: number,
  ) {}

  async decodeAudioData(content: ArrayBuffer): Promise<unknown> {
    if (new TextDecoder().decode(content) === "broken") throw new DOMException("", "EncodingError");
    return {
      sampleRate: this.rate,
      length: 4,
      numberOfChannels: 2,
      getChannelData: (channel: number) => new Float32Array(4).fill(channel),
    };
  }
}

function grant(access: () => Promise<unknown>): void {
  vi.stubGlobal("navigator", { mediaDevices: { getUserMedia: access } });
}

beforeEach(() => {
  vi.stubGlobal("MediaRecorder", FakeRecorder);
  vi.stubGlobal("OfflineAudioContext", FakeContext);
});
afterEach(() => vi.unstubAllGlobals());

describe("the microphone", () => {
  it("says what to do where it is refused or missing, and needs HTTPS", async () => {
    grant(() => Promise.reject(new DOMException("", "NotAllowedError")));
    await expect(new Microphone(4000, 1).start()).rejects.toThrow("The microphone is blocked. Allow it");
    grant(() => Promise.reject(new DOMException("", "NotFoundError")));
    await expect(new Microphone(4000, 1).start()).rejects.toThrow("No microphone was found");
    vi.stubGlobal("navigator", {});
    await expect(new Microphone(4000, 1).start()).rejects.toThrow("HTTPS");
  });

  it("records an example as WAV of one channel, at a rate that every browser decodes at", async () => {
    grant(async () => new FakeStream());
    const microphone = new Microphone(4000, 0.05);
    expect(await microphone.recording()).toBeNull();
    await microphone.start();
    const wav = new DataView(await ((await microphone.recording()) as Blob).arrayBuffer());
    expect([wav.getUint16(22, true), wav.getUint32(24, true), wav.byteLength]).toEqual([1, 8000, 44 + 8]);
    // The mean of the channels, 0 and 1.
    expect(wav.getInt16(44, true) / 32767).toBeCloseTo(0.5, 3);
  });

  it("gives nothing if it is turned off while it records", async () => {
    grant(async () => new FakeStream());
    const microphone = new Microphone(4000, 60);
    await microphone.start();
    const recording = microphone.recording();
    await Promise.resolve();
    microphone.stop();
    expect(await recording).toBeNull();
    expect(microphone.on).toBe(false);
  });
});

it("the tools show the buttons of a microphone that is on, and why one is not", async () => {
  document.body.innerHTML = `<div data-collect-sounds hidden></div><button data-collect-microphone-on></button>
    <button data-collect-record hidden></button><button data-collect-microphone-off hidden></button>
    <p data-collect-sound-problem></p>`;
  const part = (name: string) => document.querySelector<HTMLElement>(`[data-collect-${name}]`) as HTMLElement;
  const added: number[] = [];
  const owner = {
    card: document.body,
    isTraining: () => false,
    add: async (recordings: readonly Blob[]) => void added.push(recordings.length),
    say: () => {},
  };
  const tools = new SoundTools(owner, RULE);
  grant(() => Promise.reject(new DOMException("", "NotFoundError")));
  part("microphone-on").click();
  await vi.waitFor(() => expect(part("sound-problem").textContent).toContain("No microphone was found"));
  expect(part("record").hidden).toBe(true);
  grant(async () => new FakeStream());
  part("microphone-on").click();
  await vi.waitFor(() => expect(part("record").hidden).toBe(false));
  expect(part("sound-problem").textContent).toBe("");
  part("record").dispatchEvent(new MouseEvent("click", { detail: 0 }));
  await vi.waitFor(() => expect(added).toEqual([1]));
  tools.turnOff();
  expect([part("record").hidden, part("microphone-on").hidden]).toEqual([true, false]);
});

it("chosen files that are not WAV are decoded; those that cannot be stay as they are", async () => {
  const files = ["a/b.mp3", "a/c.wav", "a/d.ogg"].map((path) => ({
    path,
    file: new File([path.endsWith("ogg") ? "broken" : "x"], path, { lastModified: 7 }),
  }));
  const decoded = await decodeRecordings(RULE, files);
  expect(decoded.map(({ path }) => path)).toEqual(["a/b.mp3.wav", "a/c.wav", "a/d.ogg"]);
  expect([decoded[0]?.file.lastModified, decoded[0]?.file.type]).toEqual([7, "audio/wav"]);
  expect(await decodeRecordings({ kind: "image" } as never, files)).toBe(files);
});
