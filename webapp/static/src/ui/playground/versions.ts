/** Which versions of the model answer: the newest, or the one before and the one after the volunteer's update. */

import type { Made } from "../../client/workers/training-worker";
import type { Version } from "../../core/messages/playground";
import { say } from "../../i18n";
import { part, write } from "../lib/dom";

/** A version and what it is called beside another; alone it needs no name. */
export interface Named extends Version {
  readonly title: string | null;
}

/** Those that answer now. */
export function versionsOf(widget: HTMLElement, made: Made | null): readonly Named[] {
  if (made === null) {
    const { value } = part<HTMLDataElement>(widget, "weights");
    // The hash at the end of an address such as `/blobs/<hash>`.
    return [{ title: null, weights: value.split("/").pop() ?? "", update: null }];
  }
  write(part(widget, "asked"), say.trial.both);
  return [
    { title: say.trial.before, weights: made.weights, update: null },
    { title: say.trial.after, weights: made.weights, update: made.update },
  ];
}
