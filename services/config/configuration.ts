import * as z from 'zod';
import { agents, engineFeed } from './engine-settings.js';
import { auth } from './auth-settings.js';
import { contradictionsIn } from './contradictions.js';
import { execution, qualityOfService } from './execution-settings.js';
import { kafka } from './kafka-settings.js';
import { bridge } from './bridge-settings.js';
import { notifications } from './notification-settings.js';
import { roles } from './roles.js';
import { schedules } from './schedule-settings.js';
import {
  bucket,
  cors,
  count,
  domains,
  duration,
  EMBEDDED,
  eventStore,
  flag,
  oneOrMore,
  payloads,
  port,
  projects,
  readStore,
  publicUrl,
  resources,
  scope,
  share,
  tls,
} from './setting-kinds.js';
import { InvalidConfiguration } from './operator-errors.js';

/** The levels of the log, the most verbose first. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** The modes of the EventStoreDB protocol: not served, reads only, reads and writes. */
export const EVENTSTORE_MODES = ['off', 'read', 'write'] as const;

/** The formats in which clients of the EventStoreDB protocol get the data of events. */
export const EVENTSTORE_FORMATS = ['json', 'stored'] as const;

/** Every setting, with its default. Keys are those of the configuration file. */
export const settings = z
  .strictObject({
    data: z.string().min(1).default('./data').describe('data directory'),
    event_store: eventStore
      .prefault(EMBEDDED)
      .describe('the log: `embedded:` is the data directory; or `esdb://HOST:PORT` of an EventStoreDB or KurrentDB'),
    payload_store: payloads
      .prefault('file:')
      .describe('store of large event fields and uploads: `file:` is the data directory; or `s3://BUCKET/PREFIX`'),
    read_store: readStore
      .prefault('sqlite:')
      .describe(
        'store of the views: `sqlite:` is the data directory; or `mongodb://HOST:PORT/DATABASE?replicaSet=NAME`',
      ),
    host: z.string().min(1).default('127.0.0.1').describe('address to listen on'),
    grpc_port: port.default(81).describe('port of gRPC; 0 takes a free one; the sandbox and the image use 8081'),
    http_port: port
      .default(80)
      .describe('port of REST; 0 takes a free one; 443 with TLS unless it is set; the sandbox and the image use 8080'),
    eventstore_port: port
      .optional()
      .describe('port of the EventStoreDB protocol; 0 takes a free one; by default 2113 if that is free'),
    eventstore_mode: z
      .enum(EVENTSTORE_MODES, { error: `must be one of ${EVENTSTORE_MODES.join(', ')}` })
      .default('read')
      .describe(
        'permission of EventStoreDB clients: `off`, `read` or `write` (to streams of their own; those of the control plane are read-only)',
      ),
    eventstore_format: z
      .enum(EVENTSTORE_FORMATS, { error: `must be one of ${EVENTSTORE_FORMATS.join(', ')}` })
      .optional()
      .describe(
        'format of event data for EventStoreDB clients: `json`, the default, or `stored`; a log server always gives `stored`',
      ),
    role: roles
      .prefault(['all'])
      .describe('roles of this process: `all`; or any of `api`, `projector`, `reactor`; or `log` alone, a log server'),
    leases: flag
      .default(true)
      .describe(
        'divide the work of views and reactors among the processes; `false`: each process does all of it; named `claims` in earlier releases',
      ),
    log_level: z
      .enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` })
      .default('info')
      .describe('least severe level that is logged: `trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`'),
    tracing: z
      .strictObject({
        otlp_endpoint: publicUrl
          .default('')
          .describe(
            'OpenTelemetry collector that gets the spans of requests: OTLP over HTTP, such as `http://host:4318`',
          ),
        sample_ratio: share
          .default(1)
          .describe(
            'share of the traces that are sampled, 0 to 1, for requests whose caller has not decided on sampling',
          ),
      })
      .prefault({}),
    insecure: flag.default(false).describe('serve without authentication'),
    allow_insecure_remote: flag.default(false).describe('let `insecure` listen on addresses other than loopback'),
    domains: domains.prefault(['development', 'staging', 'production']).describe('domains of every project'),
    projects: projects.default([]).describe('projects that are registered in a log that no control plane has used yet'),
    max_message_bytes: count.default(64 * 1024 * 1024).describe('largest request, in bytes'),
    tls: tls.prefault({}),
    max_connections: oneOrMore
      .default(4_096)
      .describe('connections at a time, for gRPC and for REST each; further ones are closed'),
    max_unread_bytes: count
      .default(256 * 1024 * 1024)
      .describe(
        'memory budget of responses that clients have not read yet, in bytes; one connection may use half of it',
      ),
    max_request_bytes: count
      .default(256 * 1024 * 1024)
      .describe(
        'memory budget of large requests that are received or processed, in bytes; one connection may use half of it',
      ),
    cors: cors.prefault({}),
    max_output_bytes: count
      .default(2 * 1024 * 1024)
      .describe('largest `output_data` of an event, and largest value of a signal, in bytes'),
    max_parallelism: count
      .default(25)
      .describe('most nodes of an execution that run at once, unless it sets a number itself'),
    max_session_bytes: count
      .default(64 * 1024 * 1024)
      .describe('cache of the states of streams that receive commands, in bytes'),
    agents: agents.default([]).describe('agents, each with its `name`, `endpoint` and the `task_types` that it runs'),
    kafka: kafka.prefault({}),
    notifications: notifications.prefault({}),
    bridge: bridge.prefault({}),
    auth: auth.prefault({}),
    abort: z
      .strictObject({ timeout: duration.prefault('10m').describe('time that an engine has to answer a termination') })
      .prefault({}),
    engine_feed: engineFeed.prefault({}),
    data_proxy: z
      .strictObject({
        public_url: publicUrl.default('').describe('address in links to files; by default the address listened on'),
        max_upload_bytes: count
          .default(1024 * 1024 * 1024)
          .describe('largest uploaded file, in bytes; for a larger object in a bucket no download link is issued'),
        engine_stores: z
          .array(bucket)
          .default([])
          .describe(
            'buckets in which engines store inputs and outputs: those that they report by address, such as `s3://BUCKET/PREFIX/…`, are read from there; elements as for `payload_store`',
          ),
      })
      .prefault({}),
    quality_of_service: qualityOfService.prefault({}),
    execution: execution.prefault({}),
    schedules: schedules.prefault({}),
    reactors: z
      .strictObject({
        dead_letter_after: duration
          .prefault('1h')
          .describe('time after its due time at which failing work of a reactor becomes a dead letter at the earliest'),
      })
      .prefault({}),
    registration: z
      .strictObject({
        max_label_entries: count
          .default(0)
          .describe(
            'labels that an execution of a launch plan may have besides those of its project or parent; 0 is no limit',
          ),
        max_annotation_entries: count
          .default(0)
          .describe('annotations that an execution of a launch plan may have; 0 is no limit'),
        max_workflow_nodes: count.default(0).describe('nodes that a workflow may have; 0 is no limit'),
        workflow_size_limit: count.default(0).describe('largest compiled workflow, in bytes; 0 is no limit'),
        task_types: z
          .record(z.string(), z.array(scope))
          .default({})
          .describe('task types that only the listed projects and domains may register'),
      })
      .prefault({}),
    task_resources: z
      .strictObject({
        defaults: resources
          .prefault({ cpu: '2', memory: '200Mi' })
          .describe('resources that a container gets of each kind that it does not ask for'),
        limits: resources
          .prefault({ cpu: '2', memory: '1Gi', gpu: '1' })
          .describe('most resources that a container may ask for'),
      })
      .prefault({}),
  })
  .superRefine((settingsGiven, context) => {
    for (const { path, error } of contradictionsIn(settingsGiven))
      context.addIssue({ code: 'custom', path: [...path], message: error });
  });

/** The settings of a process, complete and valid. */
export type Configuration = z.output<typeof settings>;

/** A given value of a setting; `origin` names its source in errors, such as `--grpc-port` or `FLIGHTLOG_GRPC_PORT`. */
export type GivenSetting = { readonly path: readonly string[]; readonly value: unknown; readonly origin: string };

const put = (target: Record<string, unknown>, [key = '', ...rest]: readonly string[], value: unknown): void => {
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const inner = target[key];
  const next = typeof inner === 'object' && inner !== null ? { ...inner } : {};
  put(next, rest, value);
  target[key] = next;
};

const EXPECTED: Readonly<Record<string, string>> = {
  array: 'a list, such as [one, two]',
  object: 'a mapping',
  record: 'a mapping',
  string: 'text',
};

/** The error text for a wrong value; `undefined` leaves the text that an error has already. */
const wording: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'invalid_type' && issue.input === undefined) return 'is needed';
  if (issue.code === 'invalid_type') return `must be ${EXPECTED[issue.expected] ?? `a ${issue.expected}`}`;
  if (issue.code === 'too_small') return 'must not be empty';
  return undefined;
};

const originOf = (given: readonly GivenSetting[], path: readonly PropertyKey[]): string => {
  const key = path.join('.');
  const from = given.findLast((each) => key === each.path.join('.') || key.startsWith(`${each.path.join('.')}.`));
  return from === undefined ? '' : ` (from ${from.origin})`;
};

const HTTPS_PORT = 443;

const withCertificate = z.object({ tls: z.object({ cert_file: z.string().min(1) }) });

const hasTls = (given: unknown): boolean => withCertificate.safeParse(given).success;

/**
 * Merges settings, later ones over earlier ones, and validates them as a whole.
 *
 * @throws {InvalidConfiguration} with every invalid key and its origin.
 */
export const configure = (given: readonly GivenSetting[]): Configuration => {
  const joined: Record<string, unknown> = {};
  for (const { path, value } of given) put(joined, path, value);
  if (hasTls(joined)) joined['http_port'] ??= HTTPS_PORT;
  const result = settings.safeParse(joined, { error: wording });
  if (result.success) return result.data;
  const lines = result.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map(
          (key) => `${[...issue.path, key].join('.')}${originOf(given, [...issue.path, key])}: is not a setting`,
        )
      : [`${issue.path.join('.')}${originOf(given, issue.path)}: ${issue.message}`],
  );
  throw new InvalidConfiguration(lines.join('\n'));
};
