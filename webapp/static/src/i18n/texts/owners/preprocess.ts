import { number, percent } from "../../formatting";
import { listed } from "../volunteers/lists";
import { _, ngettext } from "./gettext";

const KINDS: Readonly<Record<string, (count: number) => string>> = {
  image: (count) => ngettext("%(count)s picture", "%(count)s pictures", count),
  audio: (count) => ngettext("%(count)s recording", "%(count)s recordings", count),
  table: (count) => ngettext("%(count)s row", "%(count)s rows", count),
  text: (count) => ngettext("%(count)s text", "%(count)s texts", count),
};
const examplesOf = (count: number) => ngettext("%(count)s example", "%(count)s examples", count);

const shape = (lengths: readonly number[]) => lengths.join(" × ") || _("a single number");
const empty = (missing: number) =>
  missing > 0 ? ngettext("; %(count)s empty", "; %(count)s empty", missing) : "";

/** The wizard's step `preprocess`. */
export const say = {
  noData: _("Bring data first: then it is said here what was found in them."),
  looking: _("The data are being looked at."),
  found: (kind: string, examples: number, classes: number) => {
    const found = (KINDS[kind] ?? examplesOf)(examples);
    if (classes === 0) return `${found}.`;
    return ngettext("%(found)s, in %(count)s class.", "%(found)s, in %(count)s classes.", classes, { found });
  },
  share: (count: number, all: number) => `${number(count)} (${percent(count / all)})`,
  imbalance: (most: string, least: string, times: number) =>
    _(
      "Strong imbalance: “%(most)s” has %(times)s times the examples of “%(least)s”. A model learns to guess the frequent class; bring more of the rare one, or weigh classes by class_weight.",
      { most, times: number(times), least },
    ),
  sizes: (least: string, most: string) =>
    _("The pictures are of unlike sizes, from %(least)s to %(most)s pixels; all are brought to one.", {
      least,
      most,
    }),
  missing: (columns: readonly string[]) => _("Empty cells in: %(columns)s.", { columns: columns.join(", ") }),
  takes: (lengths: readonly number[]) =>
    _("The model takes %(lengths)s for each example.", { lengths: shape(lengths) }),
  column: {
    number: _("a number to learn from"),
    category: _("a category to learn from"),
    class: _("to predict: a class"),
    target: _("to predict: a number"),
    ignore: _("not used"),
  },
  role: (column: string) => _("What %(column)s is for", { column }),
  empty: (column: string) => _("Where %(column)s is empty", { column }),
  when: {
    error: _("the row is left out"),
    mean: _("the mean stands in"),
    median: _("the median stands in"),
    none: _("no category"),
    own: _("a category of its own"),
  },
  numbers: (least: number, mean: number, most: number, missing: number) =>
    _("%(least)s to %(most)s, mean %(mean)s", {
      least: short(least),
      most: short(most),
      mean: short(mean),
    }) + empty(missing),
  values: (values: readonly string[], different: number, missing: number) =>
    values.join(", ") + (different > values.length ? ", …" : "") + empty(missing),
  showing: _("Preparing some examples."),
  shown: _("These are some of the examples, as the file has them and as the model gets them."),
  goesIn: (inputs: readonly (readonly number[])[], spread: readonly [number, number, number] | null) => {
    const numbers = listed(inputs.map(shape));
    if (!spread) return _("The model gets %(numbers)s numbers.", { numbers });
    const [least, mean, most] = spread.map(short) as [string, string, string];
    return _("The model gets %(numbers)s numbers, from %(least)s to %(most)s here, %(mean)s in the mean.", {
      numbers,
      least,
      mean,
      most,
    });
  },
  label: (text: string) => _("To be learnt from it: %(text)s", { text }),
  before: (label: string, width: number, height: number) =>
    _("%(label)s, as it is: %(width)s × %(height)s pixels", {
      label,
      width: number(width),
      height: number(height),
    }),
  after: (label: string) => _("%(label)s, as the model sees it", { label }),
  outdated: _("Something that they depend on was changed: the data have to be cut again."),
  waitsForModel: _("This begins by itself once the model is converted."),
  notCut: _("The data are not cut yet."),
  cut: _("Cut the data"),
  again: _("Cut again"),
  lost: _("The connection is lost; this continues when it is back."),
  fields: {
    height: _("Height in pixels"),
    width: _("Width in pixels"),
    channels: _("Colours"),
    fit: _("Pictures of another shape are"),
    resize: _("Resized by"),
    scale: _("Every number is multiplied by"),
    encoding: _("Classes are written as"),
    rate: _("Samples a second"),
    seconds: _("Seconds of an example"),
    window: _("Samples of a window"),
    hop: _("Samples from a window to the next"),
    spectrum: _("Frequencies are"),
    bins: _("Numbers of a window"),
    normalize: _("Loudness"),
    tokenizer: _("Texts are cut into"),
    length: _("Tokens of an example"),
    lower: _("Capital letters become small ones"),
    unknown: _("Tokens that are not in the vocabulary"),
    vocabulary: _("Most frequent tokens that are kept"),
    stride: _("Tokens between the beginnings of two examples"),
    x: _("What goes in"),
    y: _("What is to be learnt"),
  },
  effects: {
    size: _("Larger pictures show more, and cost more time and bytes. It has to be what the model takes."),
    channels: _("Gray has a third of the bytes; take it where colour says nothing."),
    fit: _(
      "Cut: the middle is kept. Filled: all is kept, with a border. Stretched: all is kept, out of proportion.",
    ),
    resize: _("Bilinear is right for most; area keeps fine patterns when pictures become much smaller."),
    scale: _("Models learn best from numbers about as large as 1: 0.00392 is 1 / 255, for pictures."),
    encoding: _("It has to be what the model's output takes; the preview says so where it is not."),
    rate: _(
      "Frequencies up to half of it are heard: 16000 for speech, 8000 for telephones, 44100 for music.",
    ),
    seconds: _("The middle of longer recordings is taken; shorter ones lie in the middle of silence."),
    window: _("Longer windows tell tones better apart, shorter ones moments: 25 milliseconds suit speech."),
    hop: _("With the length it makes the number of windows, which has to be what the model takes."),
    spectrum: _("Mel is as people hear: fine for low tones, coarse for high ones."),
    bins: _("More tell finer differences in pitch, and cost more. It has to be what the model takes."),
    normalize: _("Balanced: loud and quiet recordings look alike. As it is: loudness tells something."),
    tokenizer: _(
      "Characters and bytes need no vocabulary to speak of; words are fewer, and unknown ones get lost.",
    ),
    length: _("Longer ones show the model more at once, and cost more. It has to be what the model takes."),
    lower: _("Fewer different tokens, and nothing learnt about capitals."),
    unknown: _("What happens to what is not in the vocabulary."),
    stride: _(
      "As long as an example by default: each token is in one. Shorter gives more examples that overlap.",
    ),
    arrays: _("Names of the arrays in the file."),
  },
  options: {
    "1": _("gray"),
    "3": _("red, green and blue"),
    cover: _("cut to it"),
    contain: _("filled up to it"),
    stretch: _("stretched to it"),
    nearest: _("nearest pixel"),
    bilinear: _("bilinear"),
    bicubic: _("bicubic"),
    area: _("area"),
    index: _("numbers from 0"),
    "one-hot": _("one-hot"),
    number: _("0 or 1"),
    mel: _("on the mel scale"),
    linear: _("equally far apart"),
    recording: _("balanced"),
    none: _("as it is"),
    characters: _("characters"),
    bytes: _("bytes"),
    words: _("words"),
    pairs: _("pairs of bytes that are frequent"),
    error: _("leave the text out"),
    own: _("become one token"),
    drop: _("are left out"),
  },
};

function short(value: number): string {
  return `${Number(value.toPrecision(3))}`;
}
