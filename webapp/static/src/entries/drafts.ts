/** Entry of the list of drafts: creates a draft, and deletes one after confirmation. */

import "../ui/styles/minga.css";
import "../ui/styles/drafts.css";
import { bindDraftList } from "../ui/drafts/draft-list";

bindDraftList();
