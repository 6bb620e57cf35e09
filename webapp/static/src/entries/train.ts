/** Entry of the training page of a task with rounds. */

import "../ui/styles/minga.css";
import { bindRoundsPage } from "../ui/train/rounds-page";

bindRoundsPage();
