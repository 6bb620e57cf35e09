/** What the page and the worker in which people try a model say to each other. */

import type { Preprocess } from "../preprocessing/declaration";
import type { Thumbnail } from "./data-reader";
import type { WeightsSource } from "./training";

/** The model that is tried, and how it reads what people show it; null where that is already as it is stored. */
export interface PlaygroundSubject {
  /** Origin of the server. */
  readonly origin: string;
  /** Address of bundle.json. */
  readonly bundle: string;
  readonly preprocess: Preprocess | null;
}

/** A version of the model, and what one device learned since: float32, local minus global. */
export interface PlaygroundVersion {
  readonly weights: WeightsSource;
  readonly update: ArrayBuffer | null;
}

/** One example as people give it. */
export type PlaygroundQuestion =
  /** Stored values of all inputs, one after the other. */
  | { readonly kind: "values"; readonly values: readonly number[] }
  | { readonly kind: "picture"; readonly file: Blob }
  /** A cell for each column of the declaration, as a file would have it. */
  | { readonly kind: "row"; readonly cells: readonly string[] }
  | { readonly kind: "text"; readonly text: string };

/** A text to be gone on with. */
export interface Prompt {
  readonly text: string;
  /** 0 takes the likeliest token each time; 1 draws as the model says; more makes it bolder. */
  readonly temperature: number;
  readonly tokens: number;
}

/** The name of workers in which people try a model. */
export const TRYING = "trying";

export type ToPlaygroundWorker =
  /** Once, before everything else; not answered. */
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
  /** Ends the writing after the token in hand. */
  | { readonly type: "stop" };

export type FromPlaygroundWorker =
  | {
      readonly type: "answered";
      readonly id: number;
      /** The first output of each version. */
      readonly outputs: readonly Float32Array[];
      /** A picture as the model sees it. */
      readonly picture: Thumbnail | null;
      /** What of a text the vocabulary lacks, and was left out. */
      readonly lacking: readonly string[];
    }
  /** What each version wrote so far; `written` when it is all. */
  | {
      readonly type: "wrote" | "written";
      readonly id: number;
      readonly texts: readonly string[];
      readonly lacking: readonly string[];
    }
  | { readonly type: "failed"; readonly id: number; readonly message: string };
