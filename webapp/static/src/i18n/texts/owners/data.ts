import { number } from "../../formatting";
import { _, ngettext } from "./gettext";

const FOUND: Readonly<Record<string, (count: number) => string>> = {
  image: (count) => ngettext("Found %(count)s picture", "Found %(count)s pictures", count),
  audio: (count) => ngettext("Found %(count)s recording", "Found %(count)s recordings", count),
  table: (count) => ngettext("Found %(count)s row of a table", "Found %(count)s rows of a table", count),
  text: (count) => ngettext("Found %(count)s text", "Found %(count)s texts", count),
};
const foundExamples = (count: number) =>
  ngettext("Found %(count)s example in arrays", "Found %(count)s examples in arrays", count);

/** The step that brings the data. */
export const say = {
  /** Without classes: `Found 1 200 rows of a table.` */
  found: (kind: string, examples: number, classes: readonly string[], columns: number) => {
    const what = (FOUND[kind] ?? foundExamples)(examples);
    if (columns > 0)
      return ngettext("%(what)s with %(count)s column.", "%(what)s with %(count)s columns.", columns, {
        what,
      });
    if (classes.length === 0) return `${what}.`;
    const named = classes.slice(0, 6).join(", ");
    const more = classes.length - 6;
    return ngettext(
      "%(what)s of %(count)s class: %(names)s.",
      "%(what)s of %(count)s classes: %(names)s.",
      classes.length,
      {
        what,
        names: more > 0 ? _("%(names)s and %(more)s more", { names: named, more: number(more) }) : named,
      },
    );
  },
  bring: _("Bring the data"),
  sample: _("Bring a sample, if you like"),
  next: _("The next step shows how they are read, and some of them as the model sees them."),
  ownNotes: {
    image: _("Name the classes: volunteers put pictures of each into a folder of that name."),
    audio: _(
      "Name the classes: volunteers put recordings of each into a folder of that name, or record them.",
    ),
    table: _("Bring a small sample below: it says which columns there are. It is given to nobody."),
    text: _("Bring a small sample below: it says how texts are read. It is given to nobody."),
    array: _("Volunteers bring arrays x and y, shaped as the model takes them."),
  } as Readonly<Record<string, string>>,
};
