/** The page on which owners watch a task, lead it, and send participants away. */

import "../ui/styles/minga.css";
import { bindDashboard } from "../ui/manage/dashboard";

bindDashboard();
