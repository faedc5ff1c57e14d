import { styleText } from 'node:util';
import stringWidth from 'string-width';
import { visible } from '../../../kernel/values/visible-text.js';

/** The colours of texts; `grey` is for what matters less. */
export type Colour = 'red' | 'green' | 'yellow' | 'blue' | 'grey' | 'bold';

/** Colours a text where standard output takes colours, as Node.js finds out. */
export const coloured = (text: string, colour: Colour | undefined): string =>
  colour === undefined || text === '' ? text : styleText(colour, text, { stream: process.stdout });

const BY_PHASE: Readonly<Record<string, Colour>> = {
  SUCCEEDED: 'green',
  RECOVERED: 'green',
  RUNNING: 'blue',
  FAILED: 'red',
  TIMED_OUT: 'red',
  ABORTED: 'yellow',
  ABORTING: 'yellow',
};

/** The colour of a phase; `undefined` for a phase without one. */
export const colourOf = (phase: string): Colour | undefined => BY_PHASE[phase];

/** A text of printable ASCII characters, each of which takes one column. */
const ASCII = /^[ -~]*$/u;

/**
 * The columns of a terminal that a text takes: most characters of Chinese, Japanese and Korean, and emoji, take two.
 */
export const widthOf = (text: string): number => (ASCII.test(text) ? text.length : stringWidth(text));

/**
 * Pads a text to a width in columns and colours it; a longer text stays whole. Characters that a terminal obeys become
 * spaces.
 */
export const cell = (text: string, width: number, colour?: Colour): string => {
  const shown = visible(text);
  return coloured(shown, colour) + ' '.repeat(Math.max(0, width - widthOf(shown)));
};

const TIME_WIDTH = '2026-03-02T09:58:16.000Z'.length;

/**
 * Pads a time to the width of one with milliseconds; a time at a whole second has none, and is four characters shorter.
 */
export const timeCell = (at: string): string => cell(at, TIME_WIDTH, 'grey');

/** Makes one line of a text, without the characters that a terminal would obey. */
export const oneLine = (text: string): string => visible(text).replace(/\s+/gu, ' ').trim();

const characters = new Intl.Segmenter();

/** Shortens a text to a width in columns, with an ellipsis where something is left out. */
export const shortened = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text;
  if (ASCII.test(text)) return `${text.slice(0, Math.max(0, width - 1))}…`; // many times faster than by character
  let kept = '';
  let left = width - 1;
  for (const { segment } of characters.segment(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    kept += segment;
  }
  return `${kept}…`;
};
