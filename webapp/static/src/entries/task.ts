/** Entry of the task page: current figures, the curve of versions, and the playground. */

import { bindInvite } from "../ui/task/invite";
import "../ui/styles/minga.css";
import { startRefreshing } from "../ui/lib/refresh";
import { bindSections } from "../ui/lib/sections";
import { bindPlayground } from "../ui/playground/playground";
import { showTimeline } from "../ui/task/timeline";
import { showVersions } from "../ui/task/version-curve";

bindSections();
const draw = showVersions();
const tell = showTimeline();
startRefreshing(5, () => {
  draw();
  tell();
});
bindInvite();
bindPlayground();
