let segmenter: Intl.Segmenter | undefined;

/** The segmenter is made where it is needed: to make one takes longer than most commands' whole tables. */
function graphemesOf(text: string): Iterable<{ readonly segment: string }> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** One column each: ASCII, Latin letters with marks, general punctuation such as – and …, arrows, lines of tables. */
const NARROW = /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u2193\u2500-\u257f]*$/;

/** Characters that terminals draw two columns wide: East Asian scripts, full-width forms, emoji. */
const WIDE =
  /^(?:\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Script=Bopomofo}|[\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f)/u;

/** Columns of a terminal that `text` takes. It must hold no control characters. */
export function displayWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemesOf(text)) width += widthOf(segment);
  return width;
}

/** `text` in at most `width` columns, its end replaced by … where it is longer. */
export function cutToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of graphemesOf(text)) {
    used += widthOf(segment);
    if (used > width - 1) break;
    kept += segment;
  }
  return width < 1 ? '' : `${kept}…`;
}

function widthOf(grapheme: string): number {
  if (WIDE.test(grapheme)) return 2;
  // Marks and joiners that stand alone take no column.
  return /^[\p{Mark}\u200b-\u200f\ufeff]+$/u.test(grapheme) ? 0 : 1;
}
