/** The page of all rounds: those that end appear at its head. */

import "../ui/styles/minga.css";
import { startRefreshing } from "../ui/lib/refresh";
import { showTimeline } from "../ui/task/timeline";

startRefreshing(5, showTimeline());
