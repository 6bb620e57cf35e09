/** Turns recordings of any format that the browser can play into WAV, on this device. */

import type { OwnFile } from "../../../core/messages/data-reader";
import { writeWav } from "../../../core/preprocessing/audio/wav";
import type { Preprocess } from "../../../core/preprocessing/declaration";

/** Browsers decode at this rate or a higher one. */
const LEAST_RATE = 8000;
/** Longer ones would fill the memory once they are decoded: about 20 minutes of MP3. */
const MOST_BYTES = 16 * 2 ** 20;
const AS_THEY_ARE = /\.(wave?|zip)$/i;

/** Returns a recording as WAV of one channel, near `rate`. Throws if the browser cannot decode it. */
export async function toWav(recording: Blob, rate: number): Promise<Blob> {
  const context = new OfflineAudioContext(1, 1, Math.max(rate, LEAST_RATE));
  const decoded = await context.decodeAudioData(await recording.arrayBuffer());
  return new Blob([writeWav(mono(decoded), decoded.sampleRate)], { type: "audio/wav" });
}

function mono(decoded: AudioBuffer): Float32Array {
  const mixed = new Float32Array(decoded.length);
  for (let channel = 0; channel < decoded.numberOfChannels; channel++) {
    const samples = decoded.getChannelData(channel);
    for (let i = 0; i < mixed.length; i++) {
      mixed[i] = (mixed[i] as number) + (samples[i] as number) / decoded.numberOfChannels;
    }
  }
  return mixed;
}

/**
 * Returns the files, with recordings that are not WAV decoded, where the task reads recordings. Those that the browser
 * cannot decode stay as they are: the reader names them.
 */
export async function decodeRecordings(
  preprocess: Preprocess,
  files: readonly OwnFile[],
): Promise<readonly OwnFile[]> {
  if (preprocess.kind !== "audio") return files;
  const decoded: OwnFile[] = [];
  for (const one of files) decoded.push(await decodedFile(one, preprocess.rate));
  return decoded;
}

async function decodedFile(one: OwnFile, rate: number): Promise<OwnFile> {
  if (AS_THEY_ARE.test(one.path) || one.file.size > MOST_BYTES) return one;
  try {
    const path = `${one.path}.wav`;
    const name = path.split("/").pop() ?? path;
    // The date of the original tells a file that is chosen twice.
    const { lastModified } = one.file;
    return { path, file: new File([await toWav(one.file, rate)], name, { type: "audio/wav", lastModified }) };
  } catch {
    return one;
  }
}
