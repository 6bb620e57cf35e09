/** A step of the wizard: the frame around it, and the step's own controller. */

import "./minga.css";
import "./draft.css";
import { trying } from "./account/ask";
import { part } from "./dom";
import { type Frame, frameOf } from "./draft/frame";
import type { StepName } from "./draft/record";

/** Each is fetched for its own page alone. */
const STEPS: Readonly<Record<StepName, () => Promise<{ mount(frame: Frame): void }>>> = {
  model: () => import("./draft/model"),
  data: () => import("./draft/data"),
  preprocess: () => import("./draft/preprocess"),
  plan: () => import("./draft/plan"),
  privacy: () => import("./draft/privacy"),
  about: () => import("./draft/about"),
  trial: () => import("./draft/trial"),
  review: () => import("./draft/review"),
};

const root = part(document, "draft");
// On phones the steps are a line that scrolls sideways.
root.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
await trying(part(root, "problem"), async () => {
  const [frame, { mount }] = await Promise.all([frameOf(root), STEPS[root.dataset.draftStep as StepName]()]);
  mount(frame);
  part(root, "step-body").inert = false;
});
