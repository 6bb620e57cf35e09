/** The gallery, and pages without a script of their own: keeps what the cards say fresh. */

import "./minga.css";
import { keepFresh } from "./refresh";

if (document.querySelector("[data-live]")) keepFresh(5);
