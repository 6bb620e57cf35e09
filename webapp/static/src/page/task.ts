/** The task page: fresh figures, the curve of versions, and the model to try. */

import { bindTry } from "./draw";
import "./minga.css";
import { keepFresh } from "./refresh";
import { tellRounds } from "./timeline";
import { showVersions } from "./versions";

const draw = showVersions();
const tell = tellRounds();
keepFresh(5, () => {
  draw();
  tell();
});
for (const widget of document.querySelectorAll<HTMLElement>("[data-try]")) bindTry(widget);
