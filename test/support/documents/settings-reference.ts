import { stringify } from 'yaml';

import { allSettings, type Setting } from '../../../services/config/sources.js';
import { markdownTable } from './markdown-table.js';

type Section = {
  readonly title: string;
  /** The outermost keys, in the order of the page. */
  readonly keys: readonly string[];
  readonly intro: string;
};

const SECTIONS: readonly Section[] = [
  {
    title: 'Stores and roles',
    keys: ['data', 'event_store', 'payload_store', 'read_store', 'role', 'leases'],
    intro:
      '[install.md](install.md#the-data-directory) explains the data directory, [eventstoredb.md](eventstoredb.md), [mongodb.md](mongodb.md) and [object-stores.md](object-stores.md) the other stores, [deploy.md](deploy.md) the roles.',
  },
  {
    title: 'Listening',
    keys: [
      'host',
      'grpc_port',
      'http_port',
      'eventstore_port',
      'eventstore_mode',
      'eventstore_format',
      'insecure',
      'allow_insecure_remote',
      'tls',
      'cors',
      'log_level',
      'tracing',
    ],
    intro: '[tls.md](tls.md) explains the certificates, [monitor.md](monitor.md) the log and the traces.',
  },
  {
    title: 'Authentication',
    keys: ['auth'],
    intro:
      '[authentication.md](authentication.md) explains these, and [authorization-server.md](authorization-server.md) those of `auth.server`.',
  },
  {
    title: 'Limits',
    keys: [
      'max_message_bytes',
      'max_connections',
      'max_unread_bytes',
      'max_request_bytes',
      'max_session_bytes',
      'max_output_bytes',
      'data_proxy',
      'registration',
    ],
    intro: '[limits.md](limits.md) explains what happens at each limit.',
  },
  {
    title: 'Projects and executions',
    keys: [
      'domains',
      'projects',
      'max_parallelism',
      'abort',
      'engine_feed',
      'execution',
      'quality_of_service',
      'task_resources',
      'agents',
    ],
    intro:
      '[configuration.md](configuration.md) explains [the settings of executions](configuration.md#settings-of-an-execution) and [agents](configuration.md#agents), and [engines.md](../engines.md) the engine feed.',
  },
  {
    title: 'Schedules',
    keys: ['schedules', 'reactors'],
    intro:
      'A tick is a time at which a schedule starts an execution; a dead letter is work that a reactor (a component that acts on events) gave up, kept for an operator. [schedules.md](schedules.md) explains the schedules, and [runbook.md](runbook.md#a-reactor-has-dead-letters) dead letters. Annotations of a launch plan can change some.',
  },
  { title: 'Export to Kafka', keys: ['kafka'], intro: '[kafka.md](kafka.md) explains the export.' },
  { title: 'Notifications', keys: ['notifications'], intro: '[notifications.md](notifications.md) explains them.' },
  {
    title: 'Bridge to the engine in Kubernetes',
    keys: ['bridge'],
    intro: 'Only `flightlog bridge` reads these; [engine-bridge.md](engine-bridge.md) explains them.',
  },
];

/** The longest default, in characters with its backticks, that the page shows; the example file has longer ones. */
const LONGEST_DEFAULT = 40;
const MIB = 1024 * 1024;

/** True for a setting whose value is a number of bytes. */
const isBytes = (path: readonly string[]): boolean => path.at(-1)?.endsWith('_bytes') ?? false;

const yamlOf = (value: unknown): string =>
  stringify(value, {
    collectionStyle: 'flow',
    flowCollectionPadding: false,
    lineWidth: 0,
    singleQuote: true,
  }).trimEnd();

/** The default of a setting, as the table shows it. */
const defaultCell = ({ path, byDefault }: Setting): string => {
  if (byDefault === undefined || byDefault === '') return 'not set';
  const text = `\`${typeof byDefault === 'string' ? byDefault : yamlOf(byDefault)}\``;
  if (text.length > LONGEST_DEFAULT) return '[example file](../../deployment/flightlog.yaml)';
  return typeof byDefault === 'number' && isBytes(path) ? `${text} (${byDefault / MIB} MiB)` : text;
};

/** The key of a setting with dots, as in `tls.cert_file`. */
const keyOf = ({ path }: Setting): string => path.join('.');

/** The settings of a section, in the order of its keys. */
const settingsOf = ({ keys }: Section): readonly Setting[] =>
  keys.flatMap((key) => allSettings.filter(({ path }) => path[0] === key));

/** The keys of the settings that are not in exactly one section; empty when the reference is complete. */
export const misplacedSettings = (): readonly string[] => {
  const placed = SECTIONS.flatMap(settingsOf).map(keyOf);
  return allSettings.map(keyOf).filter((key) => placed.filter((each) => each === key).length !== 1);
};

/** The section of the page, with a table of its settings. */
const sectionOf = (section: Section): string =>
  [
    `## ${section.title}`,
    section.intro,
    markdownTable(
      ['key', 'variable', 'default', 'meaning'],
      settingsOf(section).map((setting) => [
        `\`${keyOf(setting)}\``,
        `\`${setting.variable}\``,
        defaultCell(setting),
        setting.description,
      ]),
    ),
  ].join('\n\n');

/** The text of `docs/operations/settings.md`. */
export const settingsPage = (): string => `# Settings

Every setting with its key in the configuration file, its environment variable and its default. [configuration.md](configuration.md) explains how settings are given and how values are written; [flightlog.yaml](../../deployment/flightlog.yaml) is a file with all of them as comments. This page and that file are generated from the schema; \`npm run settings-list\` writes them anew.

${SECTIONS.map(sectionOf).join('\n\n')}
`;

/** The mark of a setting without a default, which needs a value before it is used. */
export const NO_DEFAULT = '# no default';

/** The lines of a setting in the example file: its meaning, and its key with the default. */
const entryOf = ({ path, description: about, byDefault }: Setting, depth: number): readonly string[] => {
  const indent = '  '.repeat(depth);
  const value = byDefault === undefined ? NO_DEFAULT : yamlOf(byDefault);
  const comment = depth === 0 ? '# ' : `#${indent}# `;
  return [`${comment}${about.replaceAll('`', '')}`, `#${indent}${path[depth] ?? ''}: ${value}`];
};

/** The lines of settings that have the same first `depth` keys. */
const tree = (settings: readonly Setting[], depth: number): readonly string[] =>
  [...new Set(settings.map(({ path }) => path[depth] ?? ''))].flatMap((key) => {
    const under = settings.filter(({ path }) => path[depth] === key);
    const [own] = under;
    if (own?.path.length === depth + 1) return entryOf(own, depth);
    return [`#${'  '.repeat(depth)}${key}:`, ...tree(under, depth + 1)];
  });

/** The text of `deployment/flightlog.yaml`: all settings at their defaults, commented out. */
export const exampleFile = (): string => `# Configuration of flightlog: flightlog serve --config flightlog.yaml
#
# Each setting is here with its default. Remove the # before a setting, and before the keys above it, to change it.
# docs/operations/configuration.md explains how values are written. Generated: npm run settings-list writes it anew.

${SECTIONS.map((section) => [`# ${section.title}`, '', ...tree(settingsOf(section), 0)].join('\n')).join('\n\n')}
`;
