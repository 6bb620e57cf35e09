/** Shows some examples before and after their preprocessing. */

import { say } from "../../../i18n/texts/owners/preprocess";
import { previewNodes } from "../../train/local-data/preview";
import { node } from "../nodes";
import type { ShownFindings } from "./findings";

/**
 * Returns the preview's nodes; pictures come from the draft's `address`, and `of` identifies the run that made them.
 */
export function exampleNodes(shown: ShownFindings, address: string, of: string): readonly Node[] {
  if (shown.pictures.length > 0) {
    const all = shown.pictures.map((one, index) => {
      const source = `${address}/shown/${index}`;
      const after = picture(`${source}/after?${of}`, say.after(one.label));
      const before =
        one.before === null
          ? []
          : [picture(`${source}/before?${of}`, say.before(one.label, one.width, one.height))];
      return node("figure", "", "pair", ...before, after, node("figcaption", one.label));
    });
    return [node("div", "", "pairs", ...all)];
  }
  if (shown.rows.length > 0) {
    return previewNodes({ kind: "table", columns: shown.columns, rows: shown.rows, unused: [] });
  }
  if (shown.tokens.length > 0) {
    const { tokens } = shown;
    const unknown = tokens.filter((one) => one.unknown).length / tokens.length;
    const label = shown.label === null ? [] : [node("p", say.label(shown.label), "note")];
    return [...previewNodes({ kind: "text", tokens, count: tokens.length, unknown }), ...label];
  }
  return [];
}

function picture(source: string, text: string): HTMLImageElement {
  const made = node("img");
  made.src = source;
  made.alt = text;
  made.title = text;
  return made;
}
