/** The training page of a task of work units. */

import "../ui/styles/minga.css";
import { bindUnitsPage } from "../ui/train/units/units-page";

bindUnitsPage();
