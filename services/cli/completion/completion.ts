import type { Command } from 'commander';
import {
  NodeExecution_Phase,
  TaskExecution_Phase,
  WorkflowExecution_Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { bashScript, zshScript } from './bash-and-zsh.js';
import {
  type Completion,
  type Completions,
  FIRST_ARGUMENT,
  type Offer,
  type Values,
  type Shell,
} from './completions.js';
import { fishScript } from './fish.js';

/**
 * A command with its path: the names of the commands above it and its own, such as `get execution`. A command with
 * aliases has a path for each.
 */
type Placed = { readonly path: string; readonly command: Command };

const placed = (command: Command, path = ''): readonly Placed[] => [
  { path, command },
  ...command.commands.flatMap((each) =>
    [each.name(), ...each.aliases()].flatMap((name) => placed(each, `${path} ${name}`.trimStart())),
  ),
];

const flagsOf = (command: Command): readonly string[] =>
  [...command.options.flatMap(({ long }) => long ?? []), '--help'].sort();

const choicesOf = (command: Command): readonly string[] =>
  command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);

const completionOf = ({ path, command }: Placed): Completion => ({
  path,
  words: [...command.commands.map((each) => each.name()), ...choicesOf(command), ...flagsOf(command)],
});

const namesIn = (phases: Readonly<Record<string, string | number>>): readonly string[] =>
  Object.keys(phases).filter((name) => /^[A-Z]/u.test(name) && name !== 'UNDEFINED');

const PHASES = [WorkflowExecution_Phase, NodeExecution_Phase, TaskExecution_Phase].flatMap(namesIn);

const names = (list: string, isScoped = true): Offer => ({ kind: 'names', list, isScoped });

/** The values of flags that are the same in every command. */
const OF_FLAGS: Readonly<Record<string, Offer>> = {
  '--project': names('projects', false),
  '--domain': names('domains', false),
  '--phase': { kind: 'words', words: [...new Set(PHASES)].sort() },
};

/** The values of the flags of a command: the choices of a flag, otherwise those in `OF_FLAGS`. */
const valuesOfFlags = ({ path, command }: Placed): readonly Values[] =>
  command.options.flatMap(({ argChoices, long, short }) => {
    const offer: Offer | undefined = argChoices ? { kind: 'words', words: argChoices } : OF_FLAGS[long ?? ''];
    const after = [long, short].flatMap((flag) => (flag === undefined ? [] : [`${path} ${flag}`]));
    return offer === undefined ? [] : [{ after, offer }];
  });

/** The first arguments of commands, by the last name of the command, such as `execution` of `get execution`. */
const OF_ARGUMENTS: Readonly<Record<string, Offer>> = {
  execution: names('executions'),
  history: names('executions'),
  project: names('projects', false),
  workflow: names('workflows'),
  'launch-plan': names('launch-plans'),
  task: names('tasks'),
};

const versions = (list: string): Offer => ({ kind: 'of argument', command: `list ${list}`, column: 2 });

/** The second arguments of these commands, by the name of the command and that of the argument. */
const OF_SECOND_ARGUMENTS: Readonly<Record<string, Offer>> = {
  'workflow version': versions('workflows'),
  'launch-plan version': versions('launch-plans'),
  'task version': versions('tasks'),
  'execution signal': { kind: 'of argument', command: 'signal execution', column: 1 },
};

const valuesOfArguments = ({ path, command }: Placed): readonly Values[] => {
  const [first, second] = command.registeredArguments;
  const ofFirst = first && OF_ARGUMENTS[command.name()];
  const ofSecond = second && OF_SECOND_ARGUMENTS[`${command.name()} ${second.name()}`];
  return [
    ...(ofFirst ? [{ after: [path], offer: ofFirst }] : []),
    ...(ofSecond ? [{ after: [`${path} ${FIRST_ARGUMENT}`], offer: ofSecond }] : []),
  ];
};

const TAKES_PATH = /<(?:file|directory|folder|path)>/u;

/** The long and the short names of the options that a test picks, in all commands. */
const flagsWhere = (all: readonly Placed[], is: (option: Command['options'][number]) => boolean): readonly string[] => [
  ...new Set(
    all.flatMap(({ command }) =>
      command.options.filter(is).flatMap(({ long, short }) => [long ?? [], short ?? []].flat()),
    ),
  ),
];

const completionsOf = (program: Command): Completions => {
  const all = placed(program);
  return {
    all: all.map(completionOf),
    pathFlags: flagsWhere(all, ({ flags }) => TAKES_PATH.test(flags)),
    valueFlags: flagsWhere(all, ({ required, optional }) => required || optional),
    values: all.flatMap((each) => [...valuesOfFlags(each), ...valuesOfArguments(each)]),
  };
};

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** The script that a shell reads to complete the commands of a program. */
export const completionScript = (shell: Shell, program: Command): string => SCRIPTS[shell](completionsOf(program));
