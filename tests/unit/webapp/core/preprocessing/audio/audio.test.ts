import { describe, expect, it } from "vitest";
import {
  type AudioRecording,
  clip,
} from "../../../../../../webapp/static/src/core/preprocessing/audio/recording";
import { audioValues } from "../../../../../../webapp/static/src/core/preprocessing/audio/spectrogram";
import { openWav, writeWav } from "../../../../../../webapp/static/src/core/preprocessing/audio/wav";
import { DataProblem } from "../../../../../../webapp/static/src/core/preprocessing/data-problem";
import type { AudioSpec } from "../../../../../../webapp/static/src/core/preprocessing/declaration";
import { vectors } from "../vectors";

interface Case {
  readonly fitted?: AudioSpec;
  readonly wav: string;
  readonly values?: readonly number[];
  readonly error?: string;
}

/** What Python and TypeScript may differ, and the rounding of the golden values to five digits. */
const TOLERANCE = 1e-5 + 0.6e-5;
const CASES = vectors<Case>("audio");

function bytesOf({ wav }: Case): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(wav, "base64"));
}

function constant(frames: number, rate: number): AudioRecording {
  return { rate, frames, read: (start, stop) => new Float64Array(stop - start).fill(1) };
}

describe("recordings", () => {
  it.each(CASES.filter(({ values }) => values !== undefined))("become golden spectrogram %#", (one) => {
    const values = audioValues(openWav(bytesOf(one)), one.fitted as AudioSpec);
    const golden = one.values ?? [];
    expect(values).toHaveLength(golden.length);
    const worst = Math.max(...golden.map((value, i) => Math.abs(value - (values[i] as number))));
    expect(worst).toBeLessThan(TOLERANCE);
  });

  it.each(CASES.filter(({ error }) => error !== undefined))("are refused with the reason $error", (one) => {
    const open = () => {
      const recording = openWav(bytesOf(one));
      recording.read(0, recording.frames);
    };
    expect(open).toThrow(DataProblem);
    expect(open).toThrow(one.error ?? "");
  });

  it("are refused with a sentence wherever a file is cut off or damaged", () => {
    const good = bytesOf(CASES.find(({ fitted }) => fitted !== undefined) as Case);
    const open = (bytes: Uint8Array<ArrayBuffer>) => {
      try {
        const recording = openWav(bytes);
        return recording.read(0, recording.frames).length;
      } catch (problem) {
        if (!(problem instanceof DataProblem)) throw problem;
        return 0;
      }
    };
    expect(open(good)).toBe(240);
    for (let length = 0; length < good.length; length++) expect(open(good.slice(0, length))).toBe(0);
    for (let at = 0; at < 60; at++) {
      for (const value of [0, 1, 127, 255])
        open(Uint8Array.from(good, (byte, i) => (i === at ? value : byte)));
    }
  });

  it("are written as WAV files that are read back", () => {
    const samples = Float32Array.of(0, 0.5, -0.5, 1, -1, 2);
    const { rate, frames, read } = openWav(writeWav(samples, 16_000));
    expect([rate, frames]).toEqual([16_000, 6]);
    const heard = read(0, 6);
    [0, 0.5, -0.5, 1, -1, 1].forEach((value, i) => {
      expect(heard[i]).toBeCloseTo(value, 3);
    });
  });

  it("are read only in the part that a clip needs", () => {
    const read: number[] = [];
    const long: AudioRecording = {
      rate: 48_000,
      frames: 2 ** 35,
      read: (start, stop) => {
        read.push(stop - start);
        return new Float64Array(stop - start).fill(1);
      },
    };
    const heard = clip(long, 16_000, 16_000);
    expect(Math.max(...read)).toBeLessThan(50_000);
    expect(heard[8000]).toBeCloseTo(1, 12);
  });

  it("stay in the middle of silence if they are short", () => {
    expect([...clip(constant(2, 8000), 8000, 6)]).toEqual([0, 0, 1, 1, 0, 0]);
  });
});
