/** Messages between the page and the worker of the playground. */

import type { Preprocess } from "../preprocessing/declaration";
import type { UserMessage } from "../user-messages";
import type { Thumbnail } from "./data-reader";
import type { WeightsSource } from "./training";

/** The model to try, and the preprocessing of what people enter; null if values are entered as they are stored. */
export interface PlaygroundSubject {
  /** Origin of the server. */
  readonly origin: string;
  /** Address of bundle.json. */
  readonly bundle: string;
  readonly preprocess: Preprocess | null;
}

/** A version of the model, and optionally this device's update of it: float32, local minus global. */
export interface PlaygroundVersion {
  readonly weights: WeightsSource;
  readonly update: ArrayBuffer | null;
}

/** One example as people enter it. */
export type PlaygroundQuestion =
  /** Stored values of all inputs, one after the other. */
  | { readonly kind: "values"; readonly values: readonly number[] }
  | { readonly kind: "picture"; readonly file: Blob }
  /** A cell for each column of the declaration, as in a file. */
  | { readonly kind: "row"; readonly cells: readonly string[] }
  | { readonly kind: "text"; readonly text: string };

/** A text for the model to continue. */
export interface Prompt {
  readonly text: string;
  /** 0 takes the likeliest token each time; 1 samples by the model's probabilities; more flattens them. */
  readonly temperature: number;
  readonly tokens: number;
}

/** The name of the playground's workers. */
export const PLAYGROUND_WORKER = "trying";

export type ToPlaygroundWorker =
  /** Sent once, before everything else; not answered. */
  | { readonly type: "open"; readonly subject: PlaygroundSubject }
  | {
      readonly type: "ask";
      readonly id: number;
      readonly versions: readonly PlaygroundVersion[];
      readonly question: PlaygroundQuestion;
    }
  | {
      readonly type: "write";
      readonly id: number;
      readonly versions: readonly PlaygroundVersion[];
      readonly prompt: Prompt;
    }
  /** Ends the writing after the current token. */
  | { readonly type: "stop" };

export type FromPlaygroundWorker =
  | {
      readonly type: "answered";
      readonly id: number;
      /** The first output of each version. */
      readonly outputs: readonly Float32Array[];
      /** A picture as the model sees it. */
      readonly picture: Thumbnail | null;
      /** The parts of a text that are not in the vocabulary, and were left out. */
      readonly lacking: readonly string[];
    }
  /** The text of each version so far, and at the end. */
  | {
      readonly type: "progress" | "written";
      readonly id: number;
      readonly texts: readonly string[];
      readonly lacking: readonly string[];
    }
  | { readonly type: "failed"; readonly id: number; readonly problem: UserMessage };
