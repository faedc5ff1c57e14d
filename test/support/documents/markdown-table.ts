/** A Markdown table with its columns padded, as the formatter writes it. */
export const markdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const widths = head.map((title, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? title).length)));
  const line = (cells: readonly string[], fill: string) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`;
  return [
    line(head, ' '),
    line(
      head.map(() => '-'),
      '-',
    ),
    ...rows.map((row) => line(row, ' ')),
  ].join('\n');
};
