import { spawnSync } from 'node:child_process';
import { type CommandOptions, CHECKOUT, type Running, start } from './command.js';

/** True when this machine has `script` of util-linux, which runs a command in a terminal. */
export const hasTerminal = spawnSync('script', ['--version']).status === 0;

/** In characters. */
type Size = { readonly columns: number; readonly rows: number };

/** Starts the command line in a terminal of a size; no argument may need quotes. `input` is typed there. */
export const onTerminal = (args: readonly string[], { columns, rows }: Size, options?: CommandOptions): Running => {
  const command = [process.execPath, `${CHECKOUT}/flightlog.js`, ...args].join(' ');
  return start('script', ['-qec', `stty cols ${columns} rows ${rows}; exec ${command}`, '/dev/null'], options);
};

// oxlint-disable-next-line no-control-regex -- the sequences of a terminal
const TOKEN = /\u001B\[([\d;?]*)([A-Za-z])|\r?(\n)|([^\r])/gsu;

/** The lines of a terminal after this output without the empty ones, also those that have scrolled off at the top. */
export const screenOf = (output: string, { columns }: Pick<Size, 'columns'>): readonly string[] => {
  const lines: string[] = [''];
  const state: { row: number; wraps: boolean } = { row: 0, wraps: true };
  const below = (): void => {
    state.row += 1;
    if (state.row === lines.length) lines.push('');
  };
  /** Obeys a sequence: A moves the cursor up, J clears its line and those below, ?7h and ?7l switch line wrapping. */
  const obey = (final: string, parameters: string): void => {
    if (final === 'A') state.row = Math.max(0, state.row - Number(parameters || 1));
    else if (final === 'J') lines.splice(state.row, Infinity, '');
    else if (parameters === '?7') state.wraps = final === 'h';
  };
  for (const match of output.matchAll(TOKEN)) {
    const [, parameters = '', final, newLine, character = '']: readonly (string | undefined)[] = match;
    if (newLine !== undefined) below();
    else if (final !== undefined) obey(final, parameters);
    else {
      if (state.wraps && lines[state.row]?.length === columns) below();
      lines[state.row] = `${lines[state.row] ?? ''}${character}`.slice(0, columns);
    }
  }
  return lines.map((line) => line.trimEnd()).filter((line) => line !== '');
};
