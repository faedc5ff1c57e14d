import type { Command, Option } from 'commander';

import { program } from '../../../services/cli/program.js';
import { SERVER_FLAGS } from '../../../services/cli/completion/completions.js';
import { markdownTable } from './markdown-table.js';

const help = program.createHelp();

/** The long names of the flags of the connection. */
const CONNECTION: readonly string[] = SERVER_FLAGS;

/** True for a command that has the flags of the connection. */
const callsServer = ({ options }: Command): boolean => options.some(({ long }) => long === '--server');

/** The flags of a command without those of the connection to a server. */
const ownFlags = (command: Command): readonly Option[] =>
  callsServer(command) ? command.options.filter(({ long }) => !CONNECTION.includes(long ?? '')) : command.options;

/** A text in a cell of a table, with `|`, `*` and `<` escaped. */
const cellOf = (text: string): string => text.replaceAll(/[|*<]/gu, String.raw`\$&`);

/** A term in a cell of a table. */
const termOf = (text: string): string => `\`${text.replaceAll('|', String.raw`\|`)}\``;

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();

/** The examples in the help of a command, as the lines of a shell. */
const examplesOf = (command: Command): readonly string[] => {
  let text = '';
  command.configureOutput({ writeOut: (each) => (text += each) }).outputHelp();
  const [, examples = ''] = text.split('\nExamples:\n');
  const lines = examples.split('\n').flatMap((line) => (line.startsWith('  ') ? [line.trim()] : []));
  return lines.length === 0 ? [] : [['```sh', ...lines, '```'].join('\n')];
};

const optionRow = (option: Option): readonly string[] => [
  termOf(option.flags),
  cellOf(help.optionDescription(option).replace(' (default: false)', '')),
];

/** A table of terms and what they do; none without rows. */
const tableOf = (title: string, rows: readonly (readonly string[])[]): readonly string[] =>
  rows.length === 0 ? [] : [markdownTable([title, 'does'], rows)];

const argumentsOf = (command: Command): readonly string[] =>
  tableOf(
    'argument',
    command.registeredArguments
      .filter(({ description }) => description !== '')
      .map((each) => [
        termOf(help.argumentTerm(each)),
        cellOf(help.argumentDescription(each).replace(' (default: "")', '')),
      ]),
  );

/** The section of the page about a command. */
const sectionOf = (command: Command): string => {
  const connects = callsServer(command) ? ' It has the [flags of the connection](#the-connection).' : '';
  const about = `${command.description()}.`;
  return [
    `## ${pathOf(command)}`,
    `\`${help.commandUsage(command)}\``,
    `${about.charAt(0).toUpperCase()}${about.slice(1)}${connects}`,
    ...argumentsOf(command),
    ...tableOf('flag', ownFlags(command).map(optionRow)),
    ...examplesOf(command),
  ].join('\n\n');
};

/** The commands that do something: those without commands of their own. */
const leavesOf = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);

/** The flags of the connection, which all commands that call a server have. */
const connectionRows = (): readonly (readonly string[])[] =>
  (leavesOf(program).find(callsServer)?.options ?? [])
    .filter(({ long }) => CONNECTION.includes(long ?? ''))
    .map(optionRow);

/** The text of `docs/command-line-reference.md`. */
export const commandsPage = (): string => `# Commands and flags

Every command with its arguments and flags, as its \`--help\` has them. [command-line.md](command-line.md) explains the commands that call a server, and [operations](operations) those that serve and keep the data. The page is generated from the program; \`npm run commands-list\` writes it anew.

## The connection

The commands that call a server have these flags, and [command-line.md](command-line.md#server-and-credentials) explains them.

${markdownTable(['flag', 'does'], connectionRows())}

${leavesOf(program).map(sectionOf).join('\n\n')}
`;
