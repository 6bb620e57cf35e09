import { number, tenths } from "../../formatting";
import { _ } from "./gettext";

function size(bytes: number): string {
  if (bytes < 1e6) return `${tenths(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${tenths(bytes / 1e6)} MB` : `${tenths(bytes / 1e9)} GB`;
}

/** The files of a version, to take away. */
export const files = {
  away: _("The server does not answer. Try again in a minute."),
  card: _("The model card"),
  made: (bytes: number, sha256: string) =>
    _("%(size)s, SHA-256 %(sha256)s…", { size: size(bytes), sha256: sha256.slice(0, 12) }),
  making: (seconds: number) => _("is being made, for %(seconds)s s so far", { seconds: number(seconds) }),
  menu: _("Files"),
  of: (version: number) => _("Files of version %(version)s", { version: number(version) }),
  ready: (bytes: number) => _("ready: %(bytes)s", { bytes: size(bytes) }),
  unmade: _("made when you want it"),
  whole: (sha256: string) => _("The whole SHA-256: %(sha256)s", { sha256 }),
};
