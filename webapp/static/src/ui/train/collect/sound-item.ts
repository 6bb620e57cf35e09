/** A collected recording in the review: its spectrogram as a picture, and a button that plays it. */

import { drawSpectrogram } from "../../../core/preprocessing/audio/pixels";
import type { AudioRecording } from "../../../core/preprocessing/audio/recording";
import { audioValues } from "../../../core/preprocessing/audio/spectrogram";
import { openWav } from "../../../core/preprocessing/audio/wav";
import type { AudioRule } from "../../../core/preprocessing/declaration";
import { collect } from "../../../i18n/texts/volunteers/data/collect";

/** Returns the picture and the button of a recording whose class is `name`. */
export function soundNodes(file: File, path: string, name: string, rule: AudioRule): HTMLElement[] {
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", collect.microphone.picture(name));
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button quiet";
  button.textContent = collect.microphone.play;
  button.setAttribute("aria-label", collect.microphone.playThis(path));
  const opened = open(file);
  void opened.then((recording) => draw(canvas, recording, rule));
  button.addEventListener("click", () => void opened.then(play));
  return [canvas, button];
}

async function open(file: File): Promise<AudioRecording> {
  return openWav(new Uint8Array(await file.arrayBuffer()));
}

function draw(canvas: HTMLCanvasElement, recording: AudioRecording, rule: AudioRule): void {
  const { width, height, pixels } = drawSpectrogram(audioValues(recording, rule), rule);
  [canvas.width, canvas.height] = [width, height];
  canvas.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
}

/** Plays a recording; the page's policy lets no audio element play from memory. */
function play({ rate, frames, read }: AudioRecording): void {
  const context = new AudioContext();
  const buffer = context.createBuffer(1, frames, rate);
  buffer.copyToChannel(Float32Array.from(read(0, frames)), 0);
  const source = context.createBufferSource();
  source.buffer = buffer;
  source.connect(context.destination);
  source.addEventListener("ended", () => void context.close());
  source.start();
}
