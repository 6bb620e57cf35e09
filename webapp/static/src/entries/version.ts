/** Entry of a version's page: owners can roll the task back to it. */

import "../ui/styles/minga.css";
import { bindRollback } from "../ui/task/rollback";

bindRollback();
