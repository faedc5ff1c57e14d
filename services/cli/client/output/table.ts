import Table from 'cli-table3';
import { type Colour, coloured, oneLine, shortened } from './text.js';

/** A column of a table: its header, the text of an element, and its colour. */
export type Column<Element> = {
  readonly header: string;
  readonly text: (element: Element) => string;
  readonly colour?: (element: Element) => Colour | undefined;
};

const NO_LINES = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid']
    .flatMap((line) => [line, `${line}-left`, `${line}-right`, `${line}-mid`])
    .concat('middle')
    .map((line) => [line, '']),
);

/** The spaces between two columns. */
const GAP = 2;
/** The least width of the last column, in characters. */
const LEAST = 20;

/** The width that is left for the last column on a terminal; without a terminal nothing is shortened. */
const widthOfLast = (rows: readonly (readonly string[])[], terminal: number | undefined): number => {
  if (terminal === undefined) return Infinity;
  const columns = (rows[0]?.length ?? 1) - 1;
  const widths = Array.from({ length: columns }, (_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)) + GAP);
  return Math.max(
    LEAST,
    widths.reduce((left, width) => left - width, terminal),
  );
};

/**
 * A table as text, with a header and without lines, so that programs can cut it at spaces.
 *
 * @param terminal the width of the terminal; the last column is shortened to it.
 */
export const tableText = <Element>(
  columns: readonly Column<Element>[],
  elements: readonly Element[],
  terminal: number | undefined = process.stdout.isTTY ? process.stdout.columns : undefined,
): string => {
  const headers = columns.map(({ header }) => header);
  const plain = elements.map((element) => columns.map(({ text }) => oneLine(text(element)) || '-'));
  const last = widthOfLast([headers, ...plain], terminal);
  const table = new Table({
    chars: NO_LINES,
    head: headers.map((header) => coloured(header, 'bold')),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': GAP },
  });
  for (const [at, texts] of plain.entries()) {
    const element = elements[at];
    const cells = columns.map(({ colour }, column) => {
      const text = texts[column] ?? '';
      const shown = column === columns.length - 1 ? shortened(text, last) : text;
      return element === undefined ? shown : coloured(shown, colour?.(element));
    });
    table.push(cells);
  }
  return table.toString().replace(/ +$/gmu, '');
};
