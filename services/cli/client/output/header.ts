import { print } from './documents.js';
import { cell } from './text.js';

/** The columns of lines that are made of cells: the header and the width of each. */
export type Columns = readonly (readonly [header: string, width: number])[];

/** The header over lines whose cells are padded to these widths and have two spaces between them. */
export const headerText = (columns: Columns): string =>
  columns
    .map(([header, width]) => cell(header, width, 'bold'))
    .join('  ')
    .trimEnd();

/** Prints the header on a terminal. Elsewhere nothing is printed, because programs read each line as an element. */
export const printHeader = (columns: Columns): void => {
  if (process.stdout.isTTY) print(headerText(columns));
};
