/** Entry of the access page: creates invitations, shown once as an address and a QR code, and assigns roles. */

import "../ui/styles/minga.css";
import { bindAccess } from "../ui/manage/access";

bindAccess();
