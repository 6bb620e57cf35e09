/** Entry of the dashboard, on which owners monitor and control a task, and remove participants. */

import "../ui/styles/minga.css";
import { bindSections } from "../ui/lib/sections";
import { bindDashboard } from "../ui/manage/dashboard";

bindSections();
bindDashboard();
