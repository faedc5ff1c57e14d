import type { Configuration } from '../config/configuration.js';
import { copyNotice } from '../health/checks.js';
import { USUAL_EVENTSTORE_PORT } from '../main/eventstore/eventstore.js';
import { version } from '../main/version.js';

/** The addresses that a process serves, one that it does not serve being absent, and the data that it serves. */
export type ServedAddresses = {
  /** `host:port`. */
  readonly grpc?: string;
  /** A URL. */
  readonly http: string;
  /** `host:port` of the EventStoreDB protocol. */
  readonly eventstore?: string | undefined;
  /** The reason why the log is not served on its usual port, as the end of a sentence: `is in use`. */
  readonly eventstoreProblem?: string | undefined;
  /** The data directory, absolute. */
  readonly data: string;
  readonly logId: string;
  /** The id of the log that this one is a copy of, until it takes over. */
  readonly copyOf?: string | undefined;
  /** The number of executions in the views at the start. */
  readonly executions?: number;
};

type Addressing = Pick<Configuration, 'role' | 'eventstore_mode' | 'tls'>;

const isServingLog = ({ role }: Addressing): boolean => role.some((each) => ['all', 'api', 'log'].includes(each));

const logLine = (configuration: Addressing, { eventstore, eventstoreProblem }: ServedAddresses): readonly string[] => {
  if (eventstore !== undefined) return [`log   esdb://${eventstore}?tls=${configuration.tls.cert_file !== ''}`];
  if (configuration.eventstore_mode === 'off' || !isServingLog(configuration)) return [];
  const problem = eventstoreProblem ?? 'cannot be used';
  return [`log   not served: port ${USUAL_EVENTSTORE_PORT} ${problem}; --eventstore-port names another`];
};

const interfaceLines = ({ grpc, http }: ServedAddresses): readonly string[] =>
  grpc === undefined
    ? [`http  ${http}/readyz`]
    : [`page  ${http}/console`, `gRPC  ${grpc}`, `REST  ${http}/api/v1`, `docs  ${http}/openapi`];

/** The addresses of a process and its data directory as text for people: one a line, each line indented. */
export const addresses = (configuration: Addressing, served: ServedAddresses): string =>
  [...interfaceLines(served), ...logLine(configuration, served), `data  ${served.data}`]
    .map((line) => `  ${line}`)
    .join('\n');

/** The message of a process that is ready: text for people, or one line of JSON for the program that started it. */
export const announcement = (
  format: 'text' | 'json',
  configuration: Addressing & Pick<Configuration, 'insecure'>,
  served: ServedAddresses,
): string => {
  const { role: roles } = configuration;
  const { grpc, http, eventstore, data, logId, copyOf, executions } = served;
  if (format === 'json')
    return JSON.stringify({ ready: true, roles, grpc, http, eventstore, data, logId, copyOf, executions });
  const notice = copyNotice(served);
  const security = configuration.insecure ? ', without authentication' : '';
  return `flightlog ${version} is ready (${roles.join(', ')})${security}\n\n${addresses(configuration, served)}${notice === undefined ? '' : `\n\nNote: ${notice}.`}\n\nCtrl-C stops.`;
};

/** Announces on standard output that the process is ready: as text on a terminal, otherwise or with `json` as JSON. */
export const announce = (
  { json }: { readonly json: boolean },
  configuration: Configuration,
  served: ServedAddresses,
): void => {
  const format = process.stdout.isTTY && !json ? 'text' : 'json';
  process.stdout.write(`${announcement(format, configuration, served)}\n`);
};
