/** The task page: fresh figures, the curve of versions, and the model to try. */

import { bindInvite } from "./invite";
import "./minga.css";
import { keepFresh } from "./refresh";
import { tellRounds } from "./timeline";
import { bindTrial } from "./trial/trial";
import { showVersions } from "./versions";

const draw = showVersions();
const tell = tellRounds();
keepFresh(5, () => {
  draw();
  tell();
});
bindInvite();
bindTrial();
