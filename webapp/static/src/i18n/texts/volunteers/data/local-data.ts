import { number, percent } from "../../../formatting";
import { _, ngettext } from "../gettext";
import { listed } from "../lists";

type LocalDataKind = "image" | "audio" | "table" | "text" | "array";

const THINGS: Readonly<Record<LocalDataKind, (count: number) => string>> = {
  image: (count) => ngettext("%(count)s picture", "%(count)s pictures", count),
  audio: (count) => ngettext("%(count)s recording", "%(count)s recordings", count),
  table: (count) => ngettext("%(count)s row", "%(count)s rows", count),
  text: (count) => ngettext("%(count)s passage", "%(count)s passages", count),
  array: (count) => ngettext("%(count)s example", "%(count)s examples", count),
};

const things = (kind: LocalDataKind, count: number) => THINGS[kind](count);

/** A volunteer's own files. */
export const own = {
  things,
  wanted: (minimum: number, kind: LocalDataKind, maximum: number) =>
    _("This task needs %(minimum)s to %(maximum)s from each device.", {
      minimum: number(minimum),
      maximum: things(kind, maximum),
    }),
  byFolder: (names: readonly string[]) =>
    _(
      "Put them into folders named %(names)s, or choose a class below before you add files. You can add files several times.",
      { names: listed(names) },
    ),
  table: (names: readonly string[]) =>
    _("Choose a CSV file whose first row names the columns; it needs %(names)s.", {
      names: listed(names),
    }),
  textTable: (text: string, label: string) =>
    _("Choose a CSV file with the columns %(text)s and %(label)s.", { text, label }),
  texts: _("Choose text files (UTF-8)."),
  arrays: (names: readonly string[]) =>
    _("Choose .npz files with the arrays %(names)s.", { names: listed(names) }),
  ready: (kind: LocalDataKind, examples: number, train: number) =>
    _("%(examples)s ready: %(train)s to learn from.", {
      examples: things(kind, examples),
      train: number(train),
    }),
  readyHeld: (kind: LocalDataKind, examples: number, train: number, held: number) =>
    _("%(examples)s ready: %(train)s to learn from, %(held)s kept aside to measure on.", {
      examples: things(kind, examples),
      train: number(train),
      held: number(held),
    }),
  problems: (count: number) =>
    ngettext("%(count)s problem was found", "%(count)s problems were found", count),
  problemsSuchAs: (count: number) =>
    ngettext("%(count)s problem was found, such as", "%(count)s problems were found, such as", count),
  notFetched: _("The task’s data could not be fetched. Reload the page to try again."),
  notDropped: _("What you dropped cannot be read. Choose the files with the buttons instead."),
  reading: (done: number, total: number) =>
    _("Reading: %(done)s of %(total)s files", { done: number(done), total: number(total) }),
  nothing: _("Nothing is chosen yet."),
  kept: (files: number) =>
    ngettext("%(count)s file is kept in this browser.", "%(count)s files are kept in this browser.", files),
  noRoom: _("This browser has no room to keep these files, so none is kept. You can still train on them."),
  forgotten: _("The files are deleted from this browser. The originals stay where they are."),
  asSeen: (width: number, height: number) =>
    _("As the model sees them, %(width)s by %(height)s pixels:", {
      width: number(width),
      height: number(height),
    }),
  asHeard: (width: number, height: number) =>
    _("As the model hears them, %(width)s moments by %(height)s frequencies, low ones below:", {
      width: number(width),
      height: number(height),
    }),
  emptyCell: _("empty"),
  firstRows: _("First rows"),
  rowsBecome: _("The first rows; below each cell, the numbers that the model gets:"),
  unused: (names: readonly string[]) => _("Not used: %(names)s.", { names: listed(names) }),
  unknownToken: (id: number) => _("%(id)s: not in the task’s vocabulary", { id: String(id) }),
  tokens: (count: number) =>
    ngettext("%(count)s token. The first ones:", "%(count)s tokens. The first ones:", count),
  tokensUnknown: (count: number, unknown: number) =>
    ngettext(
      "%(count)s token. %(unknown)s of them are not in the task’s vocabulary. The first ones:",
      "%(count)s tokens. %(unknown)s of them are not in the task’s vocabulary. The first ones:",
      count,
      { unknown: percent(unknown) },
    ),
};
