/** Entry of the invitation page: exchanges the code behind the # of the address for a cookie. */

import "../ui/styles/minga.css";
import { joinByInvitation } from "../ui/account/join";

joinByInvitation();
