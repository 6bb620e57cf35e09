/** The page of all rounds: those that end appear at its head. */

import "./minga.css";
import { keepFresh } from "./refresh";
import { tellRounds } from "./timeline";

keepFresh(5, tellRounds());
