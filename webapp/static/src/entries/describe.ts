/** Entry of the page on which the owner of a task in a private test completes its description. */

import "../ui/styles/minga.css";
import "../ui/styles/drafts.css";
import { requireElement } from "../ui/lib/dom";
import { bindSections } from "../ui/lib/sections";
import { bindDescribe } from "../ui/manage/describe";

bindSections();
await bindDescribe(requireElement(document, "describe"));
