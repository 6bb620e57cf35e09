/** Entry of the dashboard, on which owners monitor and control a task, and remove participants. */

import "../ui/styles/minga.css";
import { bindDashboard } from "../ui/manage/dashboard";

bindDashboard();
