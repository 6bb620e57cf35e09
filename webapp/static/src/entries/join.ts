/** Where an invitation leads: its code, behind the # of the address, is exchanged for a cookie. */

import "../ui/styles/minga.css";
import { joinByInvitation } from "../ui/account/join";

joinByInvitation();
