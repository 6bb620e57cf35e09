/** The task page: fresh figures, the curve of versions, and the model to try. */

import { bindTry } from "./draw";
import "./minga.css";
import { keepFresh } from "./refresh";
import { showVersions } from "./versions";

const draw = showVersions();
keepFresh(5, draw);
for (const widget of document.querySelectorAll<HTMLElement>("[data-try]")) bindTry(widget);
