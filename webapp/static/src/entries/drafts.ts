/** The list of one's drafts: begins one, and deletes one after a question. */

import "../ui/styles/minga.css";
import "../ui/styles/drafts.css";
import { bindDraftList } from "../ui/drafts/draft-list";

bindDraftList();
