import { type PayloadLocation, sharesKeys } from '../store/payloads/payload-location.js';
import { dutiesOf, isStandalone, type Role } from './roles.js';
import { EMBEDDED } from './setting-kinds.js';

/** The settings that can contradict each other. */
type Settings = {
  readonly role: readonly Role[];
  readonly event_store: string;
  readonly payload_store: PayloadLocation;
  readonly data_proxy: { readonly engine_stores: readonly PayloadLocation[] };
  readonly grpc_port: number;
  readonly http_port: number;
  readonly eventstore_port?: number | undefined;
  readonly eventstore_mode: string;
  readonly eventstore_format?: string | undefined;
  readonly tls: { readonly client_ca_file: string };
  readonly auth: { readonly certificates: readonly object[] };
  readonly kafka: {
    readonly tls: boolean;
    readonly tls_ca: string;
    readonly sasl_username: string;
    readonly sasl_password: string;
  };
};

type Contradiction = { readonly path: readonly string[]; readonly error: string };

type Rule = Contradiction & { readonly applies: (settings: Settings) => boolean };

/** The port of gRPC; 0, which conflicts with no other port, in a process that does not serve gRPC. */
const grpcOf = ({ role, grpc_port: port }: Settings): number => (dutiesOf(role).api ? port : 0);

const isLogServer = ({ role }: Settings): boolean => role.includes('log');

/** Combinations of settings that make no sense: one setting rules out another, or has no effect without it. */
const RULES: readonly Rule[] = [
  {
    path: ['http_port'],
    error: 'must not be the port of gRPC too',
    applies: (settings) => grpcOf(settings) !== 0 && grpcOf(settings) === settings.http_port,
  },
  {
    path: ['eventstore_port'],
    error: 'must not be the port of gRPC or REST too',
    applies: (settings) => {
      const { eventstore_port: port = 0, http_port: http } = settings;
      return port !== 0 && (port === grpcOf(settings) || port === http);
    },
  },
  {
    path: ['role'],
    error:
      'an embedded log can be used by one process only: name an event store with event_store (--event-store esdb://HOST:PORT)',
    applies: ({ role, event_store: log }) => !isStandalone(role) && log === EMBEDDED,
  },
  {
    path: ['event_store'],
    error: 'a log server serves the log of its data directory, and no other: leave it out, or the role log',
    applies: (settings) => isLogServer(settings) && settings.event_store !== EMBEDDED,
  },
  {
    path: ['eventstore_mode'],
    error: 'a log server has to serve the EventStoreDB protocol: leave it out, or the role log',
    applies: (settings) => isLogServer(settings) && settings.eventstore_mode === 'off',
  },
  {
    path: ['eventstore_format'],
    error: 'a log server serves events as they are stored: leave it out, or the role log',
    applies: (settings) => isLogServer(settings) && settings.eventstore_format === 'json',
  },
  {
    path: ['data_proxy', 'engine_stores'],
    error:
      'must not have the payloads and uploads of payload_store in it, which engines of any project could then name: give engines a prefix of their own',
    applies: ({ payload_store: payloads, data_proxy: { engine_stores: stores } }) =>
      stores.some((store) => sharesKeys(payloads, store)),
  },
  {
    path: ['auth', 'certificates'],
    error: 'has no effect without tls.client_ca_file, which verifies certificates of clients',
    applies: ({ auth, tls }) => auth.certificates.length > 0 && tls.client_ca_file === '',
  },
  {
    path: ['kafka', 'tls_ca'],
    error: 'has no effect without kafka.tls',
    applies: ({ kafka }) => kafka.tls_ca !== '' && !kafka.tls,
  },
  {
    path: ['kafka', 'sasl_password'],
    error: 'has no effect without kafka.sasl_username',
    applies: ({ kafka }) => kafka.sasl_password !== '' && kafka.sasl_username === '',
  },
];

/** The contradictions among the settings, each with the path of the setting to name; empty when there are none. */
export const contradictionsIn = (settings: Settings): readonly Contradiction[] =>
  RULES.filter(({ applies }) => applies(settings));
