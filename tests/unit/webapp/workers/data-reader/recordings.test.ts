import { describe, expect, it } from "vitest";
import { writeWav } from "../../../../../webapp/static/src/core/preprocessing/audio/wav";
import type { AudioSpec } from "../../../../../webapp/static/src/core/preprocessing/declaration";
import { all, read } from "../../core/preprocessing/file-reading";

const spec: AudioSpec = {
  format: "minga-preprocess/1",
  kind: "audio",
  inputs: [{ shape: [3, 4, 1], dtype: "float32" }],
  labels: [{ shape: [], dtype: "int32" }],
  rate: 8000,
  seconds: 0.02,
  window: 64,
  hop: 48,
  spectrum: "linear",
  bins: 4,
  low: 0,
  high: 4000,
  normalize: "recording",
  label: { kind: "class", classes: ["no", "yes"], encoding: "index" },
};

/** A tone with `cycles` in a window of 64 samples. */
function tone(cycles: number): Uint8Array<ArrayBuffer> {
  const samples = Float32Array.from({ length: 160 }, (_, i) => Math.sin((2 * Math.PI * cycles * i) / 64));
  return writeWav(samples, 8000);
}

const files = { "yes/b.wav": tone(3), "no/a.wav": tone(0), "yes/broken.wav": tone(1).slice(0, 50) };

describe("recordings in folders", () => {
  it("become spectrograms in the order of their paths, each of its folder's class", async () => {
    const { understood, report } = await read(spec, files, {});
    const { x, y } = await all(understood);
    expect(y[0]?.values).toEqual(Int32Array.of(0, 1));
    const [, tones] = [x[0]?.values.slice(0, 12), x[0]?.values.slice(12)];
    // The loudest of the four bins is that of the tone.
    for (let frame = 0; frame < 3; frame++) {
      const bins = Array.from(tones?.slice(4 * frame, 4 * frame + 4) ?? []);
      expect(bins.indexOf(Math.max(...bins))).toBe(3);
    }
    expect(report.classes).toEqual([
      { name: "no", count: 1 },
      { name: "yes", count: 1 },
    ]);
  });

  it("that are broken are named, with what to do", async () => {
    const { report } = await read(spec, { ...files, "no/song.mp3": "ID3" }, {});
    expect(report.problems.map(({ where }) => where)).toEqual(["no/song.mp3", "yes/broken.wav"]);
    expect(report.problems[0]?.text).toContain("It is MP3, and only WAV is read here; save it as WAV");
    expect(report.problems[1]?.text).toContain("copy it again");
  });

  it("are shown as pictures, low frequencies below", async () => {
    const { report } = await read(spec, files, {});
    if (report.preview.kind !== "audio") throw new Error("no preview of recordings");
    const [, yes] = report.preview.thumbnails;
    expect([yes?.label, yes?.width, yes?.height]).toEqual(["yes", 3, 4]);
    // The upper row is the highest bin, where the tone is.
    expect(yes?.pixels[0]).toBeGreaterThan(200);
    expect(yes?.pixels.at(-4)).toBeLessThan(yes?.pixels[0] ?? 0);
  });
});
