/**
 * Entry of the account page: passkeys and password, sessions, API tokens, links for others. Changes show after a
 * reload.
 */

import "../ui/styles/minga.css";
import { bindAccountPage } from "../ui/account/account-page";

bindAccountPage();
