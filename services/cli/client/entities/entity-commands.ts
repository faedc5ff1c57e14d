import { type Command, Option } from 'commander';
import { appended, oneOrMore } from '../../arguments.js';
import {
  type FormFlags,
  type ScopeFlags,
  withConnection,
  withExamples,
  withForm,
  withScope,
} from '../connection/flags.js';
import type { ConnectionFlags } from '../connection/profile.js';
import type { GetFlags } from '../executions/get-execution.js';
import { DEFINITION_KINDS, type DefinitionKind, EXAMPLES } from './definition.js';
import type { ListedKind, ListFlags } from './list.js';

const DEFAULT_LIMIT = 25;

const LISTED: Readonly<Record<ListedKind, { readonly description: string; readonly examples: readonly string[] }>> = {
  executions: {
    description: 'print executions: name, phase, launch plan, times, principal, and why it ended',
    examples: [
      "list executions --filter 'eq(phase,FAILED)' --limit 10",
      "list executions --filter 'gte(created_at,2026-03-02T00:00:00Z)' --sort duration",
      'list executions -o name',
    ],
  },
  workflows: { description: 'print versions of workflows', examples: ['list workflows', 'list workflows hello.hello'] },
  'launch-plans': {
    description: 'print versions of launch plans: state, schedule and next fire time',
    examples: ["list launch-plans --filter 'eq(state,1)'"],
  },
  tasks: { description: 'print versions of tasks', examples: ['list tasks hello.greet --sort version'] },
  projects: { description: 'print projects and their domains', examples: ['list projects -o yaml'] },
};

const withListing = (command: Command): Command =>
  withForm(command)
    .option(
      '--filter <text>',
      'filter of the interface, such as eq(phase,FAILED); repeatable, all have to match',
      appended,
    )
    .option('--sort <column>', 'sort by a column, such as created_at; with a dash before it, descending')
    .option('--limit <n>', 'at most this many', oneOrMore, DEFAULT_LIMIT)
    .option('--token <token>', 'token of the page, as the page before prints it');

const singularOf = (kind: ListedKind): string => kind.slice(0, -1);

const addList = (program: Command): void => {
  const list = program.command('list').description('print a list of what there is');
  for (const [kind, { description, examples }] of Object.entries(LISTED) as [
    ListedKind,
    (typeof LISTED)[ListedKind],
  ][]) {
    const command = list.command(kind).alias(singularOf(kind)).description(description);
    if (kind === 'projects') withConnection(command);
    else withScope(command, `the ${kind.replace('-', ' ')}`);
    if (kind !== 'projects' && kind !== 'executions') command.argument('[name]', 'versions of this name only', '');
    withExamples(withListing(command), examples).action(async (...args: unknown[]) => {
      const { list: print } = await import('./list.js');
      const [name, flags] = args.length === 3 ? (args as [string, ListFlags]) : ['', args[0] as ListFlags];
      await print(kind, name, flags);
    });
  }
  withExamples(withForm(withConnection(list.command('domains').alias('domain'))), ['list domains'])
    .description('print the domains, which are the same in every project')
    .action(async (flags: ConnectionFlags & FormFlags) => {
      const { listDomains } = await import('./list.js');
      await listDomains(flags);
    });
};

const addGetExecution = (get: Command): void => {
  withForm(withScope(get.command('execution').alias('executions')))
    .argument('<name>', 'NAME, or PROJECT/DOMAIN/NAME')
    .description('print an execution and its nodes')
    .option('--as-of <moment>', 'as it was then: a position of the log, or a time such as 2026-03-02T09:58:16Z')
    .option('--values', 'its inputs and outputs, too; with -o json or yaml these alone', false)
    .addOption(new Option('--json', 'the same as -o json').implies({ output: 'json' }))
    .addHelpText(
      'after',
      '\nExamples:\n  flightlog get execution f4rj8 --values\n  flightlog get execution f4rj8 --as-of 2026-03-02T09:58:16Z -o yaml',
    )
    .action(async (name: string, flags: GetFlags) => {
      const { getExecution } = await import('../executions/get-execution.js');
      await getExecution(name, flags);
    });
};

const NEWEST: Readonly<Record<DefinitionKind, string>> = {
  workflow: 'the newest',
  task: 'the newest',
  'launch-plan': 'the active one, otherwise the newest',
};

const addGet = (program: Command): void => {
  const get = program.command('get').description('print one of what there is');
  addGetExecution(get);
  for (const kind of DEFINITION_KINDS)
    withExamples(withForm(withScope(get.command(kind).alias(`${kind}s`), `the ${kind.replace('-', ' ')}`)), [
      `get ${kind} ${EXAMPLES[kind]}`,
      `get ${kind} ${EXAMPLES[kind]} v1 -o json`,
    ])
      .argument('<name>', `name of the ${kind.replace('-', ' ')}`)
      .argument('[version]', `its version; by default ${NEWEST[kind]}`)
      .description(`print a ${kind.replace('-', ' ')} with its inputs and outputs`)
      .action(async (name: string, version: string | undefined, flags: ScopeFlags & FormFlags) => {
        const { getDefinition } = await import('./get-definition.js');
        await getDefinition(kind, { name, version }, flags);
      });
  withExamples(withForm(withConnection(get.command('project').alias('projects'))), ['get project flytesnacks'])
    .argument('<id>', 'id of the project')
    .description('print a project')
    .action(async (id: string, flags: ConnectionFlags & FormFlags) => {
      const { getProject } = await import('./get-definition.js');
      await getProject(id, flags);
    });
};

/** Adds the commands that print lists and single things. */
export const addEntityCommands = (program: Command): void => {
  addList(program);
  addGet(program);
};
