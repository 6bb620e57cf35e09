/** The account page: passkeys and password, sessions, API tokens, links for others. What is made or ended shows after a reload. */

import "../ui/styles/minga.css";
import { bindAccountPage } from "../ui/account/account-page";

bindAccountPage();
