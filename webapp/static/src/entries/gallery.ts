/**
 * Entry of the gallery, and of pages without a script of their own: refreshes the cards' figures, and searches tasks.
 */

import "../ui/styles/minga.css";
import { startRefreshing } from "../ui/lib/refresh";
import { bindSearch } from "../ui/task/gallery-search";

if (document.querySelector("[data-live]")) startRefreshing(5);

const form = document.querySelector<HTMLFormElement>("[data-find]");
if (form) bindSearch(form);
