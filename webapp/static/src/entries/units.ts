/** Entry of the training page of a task with work units. */

import "../ui/styles/minga.css";
import { bindUnitsPage } from "../ui/train/units/units-page";

bindUnitsPage();
