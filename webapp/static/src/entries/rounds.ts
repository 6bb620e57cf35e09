/** The page of all rounds: those that end appear at its head. */

import "../ui/styles/minga.css";
import { keepFresh } from "../ui/lib/refresh";
import { tellRounds } from "../ui/task/timeline";

keepFresh(5, tellRounds());
