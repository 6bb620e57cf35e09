import { _ } from "./gettext";

/** Failures of the workers; `detail` is what the browser says of one, empty where it says nothing. */
export const workers = {
  filesUnreadable: (detail: string) =>
    _("The files cannot be read: %(detail)s.", { detail: detail || _("the reader did not start") }),
  ended: _("A worker of this page was ended."),
  failed: (detail: string) =>
    _("A worker of this page failed: %(detail)s.", { detail: detail || _("it could not be started") }),
  modelClosed: _("The model was put away; ask it again."),
  modelNotStarted: (detail: string) =>
    _("The model could not be started: %(detail)s.", { detail: detail || _("reload the page") }),
  notStarted: _("The worker could not be started; reload the page."),
  trainingEnded: _("The training worker was ended."),
  trainingFailed: (detail: string) =>
    _("The training worker failed: %(detail)s.", { detail: detail || _("it could not be started") }),
};
