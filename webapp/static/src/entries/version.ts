/** The page of a version: whoever leads the task may go back to it. */

import "../ui/styles/minga.css";
import { bindRollback } from "../ui/task/rollback";

bindRollback();
