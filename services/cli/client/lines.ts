const COLOURS = { red: 31, green: 32, yellow: 33, blue: 34, grey: 90 } as const;

export type Colour = keyof typeof COLOURS;

const mayColour = (): boolean => process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '';

/** Colours a text where standard output is a terminal and `NO_COLOR` is not set. */
export const coloured = (text: string, colour: Colour | undefined): string =>
  colour === undefined || !mayColour() ? text : `\u001b[${COLOURS[colour]}m${text}\u001b[0m`;

const BY_PHASE: Readonly<Record<string, Colour>> = {
  SUCCEEDED: 'green',
  RECOVERED: 'green',
  RUNNING: 'blue',
  FAILED: 'red',
  TIMED_OUT: 'red',
  ABORTED: 'yellow',
  ABORTING: 'yellow',
};

/** The colour of a phase; `undefined` for phases on the way. */
export const colourOf = (phase: string): Colour | undefined => BY_PHASE[phase];

/** Pads a text to a width and colours it; a longer text stays whole. */
export const cell = (text: string, width: number, colour?: Colour): string =>
  coloured(text, colour) + ' '.repeat(Math.max(0, width - text.length));

/** Makes one line of a text. */
export const oneLine = (text: string): string => text.replace(/\s+/gu, ' ').trim();
