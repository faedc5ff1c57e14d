import type { Command } from 'commander';
import { appended, names } from '../../arguments.js';
import { withExamples, withForm, withLiveForm, withScope } from '../connection/flags.js';
import { DEFINITION_KINDS, type DefinitionKind, EXAMPLES } from '../entities/definition.js';
import { addPair, withInputs } from '../inputs/input-flags.js';
import type { LaunchFlags, NewFlags } from './launch.js';
import type { SignalFlags } from './signal.js';
import type { TerminateFlags } from './terminate.js';
import type { WatchFlags, WatchListFlags } from './watch.js';

const NAME = ['<name>', 'NAME, or PROJECT/DOMAIN/NAME'] as const;

const EXITS =
  '\nExit code: 0 when it has succeeded, 3 when it has failed, 4 when it was aborted, 5 when it ran out of time; 1 for an error.';

const ofNew = (command: Command): Command =>
  withForm(withScope(command))
    .option('--name <name>', 'name of the new execution; otherwise the server chooses one')
    .option('--wait', 'follow it until it ends; the exit code says how', false)
    .addHelpText('after', `${EXITS} These are with --wait alone.`);

const addLaunch = (program: Command): void => {
  const launch = program.command('launch').description('start an execution');
  for (const kind of DEFINITION_KINDS)
    withExamples(withInputs(ofNew(launch.command(kind).alias(`${kind}s`))), [
      `launch ${kind} ${EXAMPLES[kind]} --input name=Ada --input times=2 --wait`,
      `launch ${kind} ${EXAMPLES[kind]} v1 --inputs inputs.yaml -o name`,
    ])
      .argument('<name>', `name of the ${kind.replace('-', ' ')}`)
      .argument('[version]', 'its version; by default that of flightlog get')
      .option('--label <key=value>', 'a label; repeatable', addPair)
      .description(`launch a ${kind.replace('-', ' ')}, with inputs by its typed interface`)
      .action(async (name: string, version: string | undefined, flags: LaunchFlags) => {
        const { launch: start } = await import('./launch.js');
        await start(kind satisfies DefinitionKind, { name, version }, flags);
      });
};

const executionOf = (program: Command, verb: string, description: string): Command =>
  program.command(verb).description(description).command('execution').alias('executions').description(description);

const addAgain = (program: Command): void => {
  withExamples(withInputs(ofNew(executionOf(program, 'relaunch', 'launch an execution again'))), [
    'relaunch execution f4rj8 --wait',
    'relaunch execution f4rj8 --input name=Grace',
  ])
    .argument(...NAME)
    .action(async (name: string, flags: LaunchFlags) => {
      const { relaunch } = await import('./launch.js');
      await relaunch(name, flags);
    });
  const description = 'launch again an execution that did not succeed, without the nodes that have succeeded';
  withExamples(ofNew(executionOf(program, 'recover', description)), ['recover execution f4rj8 --wait'])
    .argument(...NAME)
    .action(async (name: string, flags: NewFlags) => {
      const { recover } = await import('./launch.js');
      await recover(name, flags);
    });
};

const addTerminate = (program: Command): void => {
  withExamples(withScope(executionOf(program, 'terminate', 'end an execution; asks first on a terminal')), [
    "terminate execution f4rj8 --cause 'wrong input'",
  ])
    .argument(...NAME)
    .requiredOption('--cause <text>', 'why, for people; it is recorded with your name')
    .option('-y, --yes', 'do not ask', false)
    .action(async (name: string, flags: TerminateFlags) => {
      const { terminate } = await import('./terminate.js');
      await terminate(name, flags);
    });
};

const addSignal = (program: Command): void => {
  withExamples(withForm(withScope(executionOf(program, 'signal', 'give a gate of an execution its value'))), [
    'signal execution f4rj8',
    'signal execution f4rj8 approved --value true',
  ])
    .argument(...NAME)
    .argument('[signal]', 'id of the signal; without it, those of the execution are printed')
    .option('--value <text>', 'the value, by the type of the signal; true approves')
    .action(async (name: string, id: string | undefined, { value, ...flags }: SignalFlags, command: Command) => {
      const { signal, signals } = await import('./signal.js');
      if (id === undefined) return signals(name, flags);
      if (value === undefined) return command.error("error: required option '--value <text>' not specified");
      return signal(name, id, { ...flags, value });
    });
};

const addWatch = (program: Command): void => {
  const watch = program.command('watch').description('print changes as they are recorded');
  withExamples(withLiveForm(withScope(watch.command('execution')), 'the id of each node that has changed'), [
    'watch execution f4rj8',
    'watch execution f4rj8 -o json | jq -r \'.nodes[] | .id.nodeId + " " + .closure.phase\'',
  ])
    .argument(...NAME)
    .description(
      'follow an execution until it ends: its nodes as a tree on a terminal, otherwise a line for each new phase',
    )
    .addHelpText('after', EXITS)
    .action(async (name: string, flags: WatchFlags) => {
      const { watchExecution } = await import('./watch.js');
      await watchExecution(name, flags);
    });
  withExamples(
    withLiveForm(
      withScope(watch.command('executions'), 'the executions'),
      'the name of each execution that has changed',
    ),
    ["watch executions --filter 'eq(phase,FAILED)'", 'watch executions --label team=ml'],
  )
    .description('print executions, and each change of their phases, until Ctrl-C')
    .option('--filter <text>', 'filter of the interface; repeatable, all have to match', appended)
    .option('--label <key=value,...>', 'with these labels only; repeatable', names)
    .action(async (flags: WatchListFlags) => {
      const { watchExecutions } = await import('./watch.js');
      await watchExecutions(flags);
    });
};

/** Adds the commands that start executions, follow them and act on them. */
export const addExecutionCommands = (program: Command): void => {
  addWatch(program);
  addLaunch(program);
  addTerminate(program);
  addAgain(program);
  addSignal(program);
};
