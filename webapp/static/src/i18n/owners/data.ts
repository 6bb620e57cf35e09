import { counted, number } from "../formatting";

const KINDS: Readonly<Record<string, string>> = {
  image: "pictures",
  table: "rows of a table",
  text: "texts",
  array: "examples in arrays",
};

/** The step that brings the data. */
export const say = {
  /** Without classes: `Found 1 200 rows of a table.` */
  found: (kind: string, examples: number, classes: readonly string[], columns: number) => {
    const what = `Found ${number(examples)} ${KINDS[kind] ?? kind}`;
    if (columns > 0) return `${what} with ${counted(columns, "column")}.`;
    if (classes.length === 0) return `${what}.`;
    const named = classes.slice(0, 6).join(", ");
    const more = classes.length > 6 ? ` and ${number(classes.length - 6)} more` : "";
    return `${what} of ${counted(classes.length, "class", "classes")}: ${named}${more}.`;
  },
  bring: "Bring the data",
  sample: "Bring a sample, if you like",
  next: "The next step shows how they are read, and some of them as the model sees them.",
  ownNotes: {
    image: "Name the classes: volunteers put pictures of each into a folder of that name.",
    table: "Bring a small sample below: it says which columns there are. It is given to nobody.",
    text: "Bring a small sample below: it says how texts are read. It is given to nobody.",
    array: "Volunteers bring arrays x and y, shaped as the model takes them.",
  } as Readonly<Record<string, string>>,
};
