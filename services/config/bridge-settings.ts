import * as z from 'zod';
import {
  count,
  distinctBy,
  duration,
  flag,
  id,
  oneOrMore,
  port,
  publicUrl,
  scope,
  timeLimit,
} from './setting-kinds.js';

const NAMESPACE = /^(?:[a-z0-9-]|\{\{\s*(?:project|domain)\s*\}\})+$/u;
const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/u;
const HOST_AND_PORT = /^.+:\d{1,5}$/u;

const cluster = z.strictObject({
  name: id,
  kubeconfig: z.string().default(''),
  context: z.string().default(''),
  labels: z.array(id).default([]),
  weight: count.default(1),
});

/** The settings of the bridge to the engine that is started by objects in a Kubernetes cluster. */
export const bridge = z.strictObject({
  endpoint: z
    .string()
    .regex(HOST_AND_PORT, { error: 'must be HOST:PORT' })
    .default('127.0.0.1:8081')
    .describe('gRPC address of the control plane'),
  tls: flag.default(false).describe('connect to the control plane with TLS'),
  ca_file: z
    .string()
    .default('')
    .describe('certificates of the control plane to trust, in PEM, in place of those that Node.js trusts; implies TLS'),
  token_file: z.string().default('').describe('file with an access token, which is read again every 5 seconds'),
  client_id: z.string().default('').describe('client that gets tokens, with `bridge.client_secret_file`'),
  client_secret_file: z.string().default('').describe('file with the secret of the client'),
  token_url: publicUrl.default('').describe('address that issues tokens; by default the control plane names it'),
  group: id.default('bridges').describe('group of engines that take over the executions of each other'),
  name: z
    .string()
    .regex(LABEL_VALUE, { error: 'must be the value of a label in Kubernetes' })
    .default('flightlog')
    .describe('name of the bridge in its group, and the label of its objects'),
  producer_id: z.string().default('propeller').describe('`producer_id` of the events of the engines in the clusters'),
  clusters: z
    .array(cluster)
    .min(1, { error: 'must have a cluster' })
    .refine(distinctBy('name'), { error: 'must not have one name twice' })
    .prefault([{ name: 'default' }])
    .describe(
      'clusters, each with `name`, `kubeconfig`, `context`, `labels` and `weight`; the default `kubeconfig` is that of kubectl or of the pod',
    ),
  scopes: z
    .array(scope)
    .default([])
    .describe('projects and domains whose executions are taken, each with `project` and `domain`; empty is all'),
  namespace_template: z
    .string()
    .regex(NAMESPACE, { error: 'must be a namespace, with {{ project }} and {{ domain }} in it' })
    .default('{{ project }}-{{ domain }}')
    .describe('template of the namespace of the object of an execution'),
  capacity: oneOrMore.default(1_000).describe('executions that the bridge holds at a time'),
  concurrency: oneOrMore.default(16).describe('objects that are worked on at a time'),
  call_timeout: timeLimit
    .prefault('10s')
    .describe('longest time that an API server may take to answer, and a credential command of a kubeconfig to end'),
  keep_finished: duration.prefault('10m').describe('time after which the object of a finished execution is deleted'),
  finalizer_grace: duration
    .prefault('0s')
    .describe(
      'time from the deletion of the object of a finished execution until the finalizer of the engine is removed from it; `0s` is never',
    ),
  event_version: count
    .refine((value) => value <= 2, { error: 'must be 0, 1 or 2' })
    .default(2)
    .describe('version of the events that engines report: 0, 1 or 2'),
  role_key: id.default('iam.amazonaws.com/role').describe('annotation that names the IAM role of an execution'),
  offload_to: z
    .string()
    .default('')
    .describe(
      'store for large closures and inputs that the engines read too, `s3://BUCKET/PREFIX` or a directory; without it they are in the objects',
    ),
  offload_above_bytes: count
    .default(128 * 1024)
    .describe('size above which a closure, or the inputs, go to `bridge.offload_to`'),
  metrics_port: port.default(0).describe('port of metrics and health checks on `host`; 0 serves none'),
  console_url: publicUrl
    .default('')
    .describe(
      'address of the web console, written into the objects, from which engines such as propeller make links to executions',
    ),
});
