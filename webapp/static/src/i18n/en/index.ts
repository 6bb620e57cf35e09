/** English, the fallback. */

import { account } from "./account";
import { card } from "./card";
import { curves } from "./curves";
import { figures } from "./figures";
import { files } from "./files";
import { gallery } from "./gallery";
import { invite } from "./invite";
import { own } from "./local-data";
import { manage } from "./manage";
import { masked } from "./masked";
import { mesh } from "./mesh";
import { mistakes } from "./mistakes";
import { people } from "./people";
import { trial } from "./playground";
import { round } from "./round";
import { units } from "./units";
import { url } from "./url-data";
import { workers } from "./workers";

export const en = {
  account,
  card,
  curves,
  figures,
  files,
  gallery,
  invite,
  manage,
  masked,
  mesh,
  mistakes,
  own,
  people,
  round,
  trial,
  units,
  url,
  workers,
};
