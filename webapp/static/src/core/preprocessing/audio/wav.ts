/** Reads WAV files (PCM of 8 to 32 bits, floats) and writes them; sizes in headers are compared with what is there. */

import { type FilledMessage, later, type UserMessage } from "../../user-messages";
import { DataProblem } from "../data-problem";
import type { AudioRecording } from "./recording";

const MOST_CHANNELS = 8;
const RATES = { least: 1000, most: 192_000 };
/** Floats are from -1 to 1; whole numbers saved as floats are refused. */
const MOST_LEVEL = 100;
const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;
const GUID = "000000001000800000aa00389b71";
const HEADER = 44;

/** Formats that are not WAV, by the bytes at a position. */
const OTHERS: readonly (readonly [at: number, mark: string, name: string])[] = [
  [0, "ID3", "MP3"],
  [0, "\xff\xfb", "MP3"],
  [0, "\xff\xf3", "MP3"],
  [0, "OggS", "Ogg"],
  [0, "fLaC", "FLAC"],
  [4, "ftyp", "M4A"],
  [0, "\x1a\x45\xdf\xa3", "WebM"],
  [0, "FORM", "AIFF"],
];

interface WavEncoding {
  readonly kind: number;
  readonly channels: number;
  readonly rate: number;
  readonly bits: number;
}

interface RiffChunk {
  readonly name: string;
  readonly start: number;
  readonly size: number;
}

function problem(message: UserMessage): DataProblem {
  return new DataProblem(message);
}

function textAt(bytes: Uint8Array, start: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(start, start + length));
}

/** Whether a file is some kind of WAV, by its first bytes. */
export function isWav(bytes: Uint8Array): boolean {
  return textAt(bytes, 0, 4) === "RIFF" && textAt(bytes, 8, 4) === "WAVE";
}

/** Opens a WAV file. Throws DataProblem, which says what to do. */
export function openWav(bytes: Uint8Array<ArrayBuffer>): AudioRecording {
  if (bytes.length === 0) throw problem(later("The file is empty; record it again, or leave it out"));
  if (!isWav(bytes)) throw otherFormat(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let encoding: WavEncoding | null = null;
  for (const { name, start, size } of chunks(view, bytes)) {
    if (name === "fmt ") encoding = readEncoding(view, bytes, start, size);
    if (name !== "data") continue;
    if (encoding === null) break;
    return recordingOf(encoding, new DataView(bytes.buffer, bytes.byteOffset + start, size));
  }
  throw problem(
    later("The WAV file has no sound, or no description of it; save it as WAV (PCM of 16 bits) again"),
  );
}

function otherFormat(bytes: Uint8Array): DataProblem {
  const mark = textAt(bytes, 0, 4);
  if (mark === "RF64" || mark === "RIFX") {
    return problem(
      later("It is %(kind)s, a kind of WAV that is not read; save it as WAV (PCM of 16 bits)", {
        kind: mark,
      }),
    );
  }
  const known = OTHERS.find(([at, text]) => textAt(bytes, at, text.length) === text);
  if (known !== undefined) {
    return problem(
      later("It is %(kind)s, and only WAV is read here; save it as WAV (PCM of 16 bits)", { kind: known[2] }),
    );
  }
  return problem(later("It is no WAV file; save it as WAV (PCM of 16 bits)"));
}

/** Yields the chunks of a file. Throws DataProblem for one that the file does not hold. */
function* chunks(view: DataView, bytes: Uint8Array): Generator<RiffChunk> {
  let at = 12;
  while (at + 8 <= bytes.length) {
    const [name, size] = [textAt(bytes, at, 4), view.getUint32(at + 4, true)];
    at += 8;
    if (size > bytes.length - at) {
      throw problem(
        later(
          "Its header announces %(size)s bytes where %(left)s follow, so it is cut off or was not closed; copy it again, or save it again as WAV",
          { size, left: bytes.length - at },
        ),
      );
    }
    yield { name, start: at, size };
    at += size + (size % 2);
  }
}

function readEncoding(view: DataView, bytes: Uint8Array, start: number, size: number): WavEncoding {
  if (size < 16) {
    throw problem(later("The description of its sound is cut off; save it as WAV (PCM of 16 bits) again"));
  }
  const [kind, channels, rate, frameBytes, bits] = [
    wavKind(view, bytes, start, size),
    view.getUint16(start + 2, true),
    view.getUint32(start + 4, true),
    view.getUint16(start + 12, true),
    view.getUint16(start + 14, true),
  ];
  if (channels < 1 || channels > MOST_CHANNELS) {
    throw problem(
      later("It has %(channels)s channels where 1 to %(most)s are read; mix it down to one", {
        channels,
        most: MOST_CHANNELS,
      }),
    );
  }
  if (rate < RATES.least || rate > RATES.most) {
    throw problem(
      later("It has %(rate)s samples a second where %(least)s to %(most)s are read; resample it", {
        rate,
        ...RATES,
      }),
    );
  }
  const widths = { [PCM]: [8, 16, 24, 32], [FLOAT]: [32, 64] }[kind] ?? [];
  if (!widths.includes(bits)) {
    throw problem(
      later(
        "Its sound is stored as %(kind)s of %(bits)s bits, which is not read; save it as WAV (PCM of 16 bits)",
        {
          kind: kindName(kind),
          bits,
        },
      ),
    );
  }
  if (frameBytes !== (channels * bits) / 8) {
    throw problem(
      later("The description of its sound contradicts itself; save it as WAV (PCM of 16 bits) again"),
    );
  }
  return { kind, channels, rate, bits };
}

function wavKind(view: DataView, bytes: Uint8Array, start: number, size: number): number {
  const kind = view.getUint16(start, true);
  if (kind !== EXTENSIBLE) return kind;
  const tail = [...bytes.subarray(start + 26, start + 40)].map((byte) => byte.toString(16).padStart(2, "0"));
  if (size < 40 || tail.join("") !== GUID) {
    throw problem(later("Its sound is compressed or of an unknown kind; save it as WAV (PCM of 16 bits)"));
  }
  return view.getUint16(start + 24, true);
}

function kindName(kind: number): FilledMessage {
  if (kind === PCM) return later("whole numbers", {});
  if (kind === FLOAT) return later("floats", {});
  return later("the compressed kind %(kind)s", { kind: String(kind) });
}

function recordingOf(encoding: WavEncoding, data: DataView): AudioRecording {
  const { kind, channels, rate, bits } = encoding;
  const bytes = bits / 8;
  const frames = Math.floor(data.byteLength / (channels * bytes));
  if (frames === 0) throw problem(later("It holds no sound; record it again, or leave it out"));
  const sample = reader(kind, bits, data);
  return {
    rate,
    frames,
    read(start, stop) {
      const samples = new Float64Array(stop - start);
      for (let i = 0; i < samples.length; i++) {
        let sum = 0;
        for (let channel = 0; channel < channels; channel++) {
          sum += sample(((start + i) * channels + channel) * bytes);
        }
        samples[i] = sum / channels;
      }
      return samples;
    },
  };
}

/** Returns a function that reads the sample at a position, -1 to 1. */
function reader(kind: number, bits: number, data: DataView): (at: number) => number {
  if (kind === FLOAT) {
    const read = (at: number) => (bits === 32 ? data.getFloat32(at, true) : data.getFloat64(at, true));
    return (at) => checked(read(at));
  }
  switch (bits) {
    case 8:
      return (at) => (data.getUint8(at) - 128) / 128;
    case 16:
      return (at) => data.getInt16(at, true) / 2 ** 15;
    case 24:
      return (at) => (data.getInt8(at + 2) * 2 ** 16 + data.getUint16(at, true)) / 2 ** 23;
    default:
      return (at) => data.getInt32(at, true) / 2 ** 31;
  }
}

function checked(value: number): number {
  if (Math.abs(value) <= MOST_LEVEL) return value;
  throw problem(
    later("It holds numbers that are no sound; floats are from -1 to 1: scale them, and save it again"),
  );
}

/** Writes mono samples, -1 to 1, as a WAV file of 16 bits. */
export function writeWav(samples: Float32Array, rate: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER + 2 * samples.length);
  const view = new DataView(bytes.buffer);
  const text = (at: number, letters: string) => {
    for (let i = 0; i < letters.length; i++) bytes[at + i] = letters.charCodeAt(i);
  };
  text(0, "RIFF");
  view.setUint32(4, bytes.length - 8, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, PCM, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, i) => {
    view.setInt16(HEADER + 2 * i, Math.round(Math.max(-1, Math.min(1, sample)) * 32767), true);
  });
  return bytes;
}
