/** The task page: fresh figures, the curve of versions, and the model to try. */

import { bindInvite } from "../ui/task/invite";
import "../ui/styles/minga.css";
import { keepFresh } from "../ui/lib/refresh";
import { bindTrial } from "../ui/playground/playground";
import { tellRounds } from "../ui/task/timeline";
import { showVersions } from "../ui/task/version-curve";

const draw = showVersions();
const tell = tellRounds();
keepFresh(5, () => {
  draw();
  tell();
});
bindInvite();
bindTrial();
