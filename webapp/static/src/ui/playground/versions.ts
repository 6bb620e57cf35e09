/** Selects the versions of the model that answer: the newest, or those before and after the volunteer's update. */

import type { Made } from "../../client/workers/training-worker";
import type { PlaygroundVersion } from "../../core/messages/playground";
import { say } from "../../i18n";
import { requireElement } from "../lib/dom";

/** A version and its name beside another; a single one needs no name. */
export interface NamedVersion extends PlaygroundVersion {
  readonly title: string | null;
}

/** Returns the versions that answer now. */
export function versionsOf(widget: HTMLElement, made: Made | null): readonly NamedVersion[] {
  if (made === null) {
    const { value } = requireElement<HTMLDataElement>(widget, "weights");
    // The hash at the end of an address such as `/blobs/<hash>`.
    return [{ title: null, weights: value.split("/").pop() ?? "", update: null }];
  }
  return [
    { title: say.trial.before, weights: made.weights, update: null },
    { title: say.trial.after, weights: made.weights, update: made.update },
  ];
}
