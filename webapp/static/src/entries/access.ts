/** Who may see a task: makes invitations, shown once as an address and a QR code, and gives roles. */

import "../ui/styles/minga.css";
import { bindAccess } from "../ui/manage/access";

bindAccess();
