import { duration, size } from "./figures";
import { _ } from "./gettext";

/** A file of the owner's on its way. */
export const say = {
  none: _("Nothing is here yet."),
  here: (name: string, bytes: number) => _("%(name)s is here: %(bytes)s.", { name, bytes: size(bytes) }),
  partly: (name: string, offset: number, bytes: number) =>
    _("%(name)s was cut off: %(offset)s of %(bytes)s are here. Choose the same file to go on from there.", {
      name,
      offset: size(offset),
      bytes: size(bytes),
    }),
  reading: (name: string) => _("Reading %(name)s, so that it can be checked when it arrives", { name }),
  sending: (name: string) => _("%(name)s is on its way. Stay on this page until it is there.", { name }),
  paused: (name: string) => _("%(name)s: paused. What came is kept.", { name }),
  lost: (name: string) =>
    _("%(name)s: the connection is lost. The upload continues when it is back.", { name }),
  cancelled: _("The upload was cancelled."),
  other: (name: string, bytes: number) =>
    _(
      "Part of another file, %(name)s (%(bytes)s), is already here. Choose that file to continue, or start over with this one.",
      { name, bytes: size(bytes) },
    ),
  changed: (name: string) =>
    _("%(name)s has changed since part of it was sent. Start over to send it as it is now.", { name }),
  unreadable: (name: string) =>
    _("%(name)s can no longer be read: it was moved, changed or taken away. Choose it again.", { name }),
  folder: _("A folder cannot be sent as it is: make a zip of it, and choose that."),
  figures: (bytes: number, all: number, rate: number | null, left: number | null) => {
    const far = _("%(done)s of %(all)s", { done: size(bytes), all: size(all) });
    const fast = rate === null ? far : _("%(far)s, %(rate)s a second", { far, rate: size(rate) });
    return left === null ? fast : _("%(far)s, about %(left)s left", { far: fast, left: duration(left) });
  },
};
