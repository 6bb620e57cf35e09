/** Entry of a wizard step: the frame around it, and the step's own controller. */

import "../ui/styles/minga.css";
import "../ui/styles/drafts.css";
import { type DraftFrame, frameOf } from "../ui/drafts/frame";
import type { StepName } from "../ui/drafts/record";
import { showRefusal } from "../ui/lib/api";
import { requireElement } from "../ui/lib/dom";
import { bindSections } from "../ui/lib/sections";

/** Each controller is fetched only on its own page. */
const STEPS: Readonly<Record<StepName, () => Promise<{ mount(frame: DraftFrame): void }>>> = {
  model: () => import("../ui/drafts/steps/model"),
  data: () => import("../ui/drafts/steps/data"),
  preprocess: () => import("../ui/drafts/steps/preprocessing"),
  plan: () => import("../ui/drafts/steps/plan"),
  privacy: () => import("../ui/drafts/steps/privacy"),
  about: () => import("../ui/drafts/steps/about"),
  trial: () => import("../ui/drafts/steps/dry-run"),
  review: () => import("../ui/drafts/steps/review"),
};

bindSections();
const root = requireElement(document, "draft");
// On phones the list of steps scrolls sideways.
root.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
await showRefusal(requireElement(root, "problem"), async () => {
  const [frame, { mount }] = await Promise.all([frameOf(root), STEPS[root.dataset.draftStep as StepName]()]);
  mount(frame);
  requireElement(root, "step-body").inert = false;
});
