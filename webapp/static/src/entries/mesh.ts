/** Entry of the training page of a decentralized task. */

import "../ui/styles/minga.css";
import { bindMeshPage } from "../ui/train/mesh/mesh-page";

bindMeshPage();
