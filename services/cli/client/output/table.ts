import { cell, type Colour, oneLine, shortened, widthOf } from './text.js';

/** A column of a table: its header, the text of an element, and its colour. */
export type Column<Element> = {
  readonly header: string;
  readonly text: (element: Element) => string;
  readonly colour?: (element: Element) => Colour | undefined;
};

/** The space between two columns. */
const GAP = '  ';
/** The least width of the last column on a terminal. */
const LEAST = 20;

/** The width that is left for the last column on a terminal; without a terminal nothing is shortened. */
const widthOfLast = (widths: readonly number[], terminal: number | undefined): number => {
  if (terminal === undefined) return Infinity;
  return Math.max(
    LEAST,
    widths.slice(0, -1).reduce((left, width) => left - width - GAP.length, terminal),
  );
};

/**
 * A table as text, with a header and without lines: two or more spaces separate columns.
 *
 * @param terminal the width of the terminal, for which the last column is shortened, to no less than 20 columns.
 */
export const tableText = <Element>(
  columns: readonly Column<Element>[],
  elements: readonly Element[],
  terminal: number | undefined = process.stdout.isTTY ? process.stdout.columns : undefined,
): string => {
  const headers = columns.map(({ header }) => header);
  const texts = elements.map((element) => columns.map(({ text }) => oneLine(text(element)) || '-'));
  const widths = columns.map((_, at) =>
    [headers, ...texts].reduce((widest, row) => Math.max(widest, widthOf(row[at] ?? '')), 0),
  );
  const last = widthOfLast(widths, terminal);
  const line = (row: readonly string[], colourOf: (column: Column<Element>) => Colour | undefined): string =>
    columns
      .map((column, at) => {
        const [text, width] = [row[at] ?? '', widths[at] ?? 0];
        return at === columns.length - 1
          ? cell(shortened(text, last), 0, colourOf(column))
          : cell(text, width, colourOf(column));
      })
      .join(GAP);
  const rows = elements.map((element, at) => line(texts[at] ?? [], ({ colour }) => colour?.(element)));
  return [line(headers, () => 'bold'), ...rows].join('\n');
};
