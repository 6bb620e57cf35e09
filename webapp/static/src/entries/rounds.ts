/** Entry of the page of all rounds: new ones appear at the top. */

import "../ui/styles/minga.css";
import { startRefreshing } from "../ui/lib/refresh";
import { showTimeline } from "../ui/task/timeline";

startRefreshing(5, showTimeline());
