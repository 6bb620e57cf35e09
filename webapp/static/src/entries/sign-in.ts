/** Entry of the sign-in page: by a passkey, a password, or a link, whose code is behind the # of the address. */

import "../ui/styles/minga.css";
import { bindSignIn } from "../ui/account/sign-in";

bindSignIn();
