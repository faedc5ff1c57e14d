import { linearBuckets } from 'prom-client';

/** A metric of flightlog, as it is exposed and as the documentation lists it. */
export type MetricDefinition = {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
};

/** A histogram with the upper bounds of its buckets, ascending. */
export type HistogramDefinition = MetricDefinition & { readonly buckets: readonly number[] };

/** In seconds: from the latency of the embedded log on a fast disk to the longest timeout of clients in the field. */
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const SYNC_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
const BATCH_SIZES = linearBuckets(0, 1, 11).map((power) => 2 ** power);

export const histograms = {
  requests: {
    name: 'flightlog_request_duration_seconds',
    help: 'Requests by RPC, transport (grpc, rest) and status, from their arrival (over REST with the whole body) until their answer is made, or their stream has ended; its count is the number of requests.',
    labelNames: ['rpc', 'transport', 'code'],
    buckets: REQUEST_SECONDS,
  },
  appends: {
    name: 'flightlog_append_duration_seconds',
    help: 'Appends to the log by outcome, from the decision until they are durable (ok), were refused because the stream has another revision or the events are too large (refused), or have failed (failed).',
    labelNames: ['outcome'],
    buckets: REQUEST_SECONDS,
  },
  syncs: {
    name: 'flightlog_log_sync_duration_seconds',
    help: 'Commits of the embedded log, which end when the disk has synced them.',
    labelNames: [],
    buckets: SYNC_SECONDS,
  },
  batches: {
    name: 'flightlog_log_batch_appends',
    help: 'Appends in one commit of the embedded log.',
    labelNames: [],
    buckets: BATCH_SIZES,
  },
} satisfies Readonly<Record<string, HistogramDefinition>>;

export const counters = {
  shed: {
    name: 'flightlog_requests_shed_total',
    help: 'Requests that were rejected because the process, or the connection of the caller, has too much in flight, or a limit of failed sign-ins holds them back (RESOURCE_EXHAUSTED with a time to retry).',
    labelNames: ['rpc', 'transport'],
  },
  notifications: {
    name: 'flightlog_notification_attempts_total',
    help: 'Attempts to send a notification, by channel and outcome (sent, failed, refused, unknown); also notifications that were given up without a further attempt (given-up), or replaced by a digest (digested).',
    labelNames: ['channel', 'outcome'],
  },
  ticks: {
    name: 'flightlog_schedule_ticks_total',
    help: 'Ticks (times at which a schedule starts an execution) by outcome: fired, skipped with a reason, or failed.',
    labelNames: ['outcome', 'reason'],
  },
  auditDropped: {
    name: 'flightlog_audit_entries_dropped_total',
    help: 'Entries of the audit that could not be kept, because there were too many at once or their store refused them; an entry of the audit has their number, too.',
    labelNames: [],
  },
  tlsReloads: {
    name: 'flightlog_tls_reloads_total',
    help: 'Changes of the certificate files of TLS, by outcome: loaded, or failed where the former certificates stay in use.',
    labelNames: ['outcome'],
  },
  drops: {
    name: 'flightlog_subscription_drops_total',
    help: 'Live subscriptions to the event store that ended because this process was a slow consumer; each resumes where it stopped.',
    labelNames: [],
  },
} satisfies Readonly<Record<string, MetricDefinition>>;

/** All gauges, except those of a bridge. They are read when the metrics are scraped. */
export const gauges = {
  inFlight: {
    name: 'flightlog_requests_in_flight',
    help: 'Requests in flight, open streams included.',
    labelNames: ['transport'],
  },
  head: {
    name: 'flightlog_log_head_position',
    help: 'Position of the last event of the log; absent while an event store does not answer.',
    labelNames: [],
  },
  viewLag: {
    name: 'flightlog_view_lag_seconds',
    help: 'Time for which the log has had, or may have had, events that are not projected yet, by read model. All read models in service have the same value. A read model that is being built has at least the time since this process found it being built.',
    labelNames: ['model'],
  },
  exportLag: {
    name: 'flightlog_export_lag_seconds',
    help: 'Age of the oldest event that has not been exported to Kafka; where that is not known, until the export has caught up, the time since its start, an interruption, or the end of a standby. 0 on standby; absent where nothing is exported.',
    labelNames: [],
  },
  reactorWaiting: {
    name: 'flightlog_reactor_waiting',
    help: 'Unfinished work that a reactor of this process knows of, by reactor, including work that is not due yet.',
    labelNames: ['reactor'],
  },
  reactorRetrying: {
    name: 'flightlog_reactor_retrying',
    help: 'Work whose last attempt has failed, and that is not given up, by reactor; another attempt may be running.',
    labelNames: ['reactor'],
  },
  reactorDead: {
    name: 'flightlog_reactor_given_up',
    help: 'Dead letters of a reactor: work that it gave up, kept for an operator. For fire-schedules: ticks that were given up since the reactor was last started in this process.',
    labelNames: ['reactor'],
  },
  reactorLag: {
    name: 'flightlog_reactor_lag_seconds',
    help: 'Time since the oldest work of a reactor that is due now became due; 0 where none is. Work that waits to be tried again is not due.',
    labelNames: ['reactor'],
  },
  groupLag: {
    name: 'flightlog_consumer_group_lag',
    help: 'Lag of a consumer group: the number of revisions of its stream after its checkpoint, or of positions of the log for $all; 0 when it has caught up. Only for the 100 oldest groups.',
    labelNames: ['stream', 'group'],
  },
  groupInFlight: {
    name: 'flightlog_consumer_group_in_flight',
    help: 'Events that the clients of a consumer group were sent and have not answered. Only for the 100 oldest groups.',
    labelNames: ['stream', 'group'],
  },
  groupParked: {
    name: 'flightlog_consumer_group_parked',
    help: 'Parked events of a consumer group. Only for the 100 oldest groups.',
    labelNames: ['stream', 'group'],
  },
  parked: {
    name: 'flightlog_parked_streams',
    help: 'Streams with an event that cannot be read: parked by the views (by="views"), or found by this process (by="process").',
    labelNames: ['by'],
  },
  checks: {
    name: 'flightlog_check_state',
    help: 'The checks of /readyz: 0 well, 1 degraded, 2 down.',
    labelNames: ['check'],
  },
  sessions: {
    name: 'flightlog_sessions',
    help: 'Live streams: streams whose state this process caches to decide on commands. Not sign-in or engine sessions.',
    labelNames: [],
  },
  sessionBytes: {
    name: 'flightlog_session_cache_bytes',
    help: 'Memory of the cached states of live streams, estimated.',
    labelNames: [],
  },
  threads: {
    name: 'flightlog_threads',
    help: 'Threads of the process as the operating system counts them; Linux only.',
    labelNames: [],
  },
  build: {
    name: 'flightlog_build_info',
    help: 'Always 1; the labels say which release runs and which roles it has.',
    labelNames: ['version', 'role'],
  },
} satisfies Readonly<Record<string, MetricDefinition>>;

/** The metrics of `flightlog bridge`. */
export const bridgeCatalog = {
  joined: {
    name: 'flightlog_bridge_joined',
    help: '1 while the bridge has joined the work stream of the control plane, otherwise 0.',
    labelNames: [],
  },
  executions: {
    name: 'flightlog_bridge_executions',
    help: 'Executions of the bridge by the aim of the control plane: run, abort, or over (ended; its object in the cluster is kept for a while).',
    labelNames: ['aim'],
  },
  calls: {
    name: 'flightlog_bridge_cluster_call_duration_seconds',
    help: 'Calls of the API servers of clusters; outcome is ok, refused (the cluster refuses the object) or away (no answer, or an error of the API server).',
    labelNames: ['cluster', 'call', 'outcome'],
    buckets: REQUEST_SECONDS,
  },
  watchFailures: {
    name: 'flightlog_bridge_watch_failures_total',
    help: 'Failed lists and watches of the objects of a cluster; the bridge tries again.',
    labelNames: ['cluster'],
  },
  stepFailures: {
    name: 'flightlog_bridge_step_failures_total',
    help: 'Failed steps for executions, such as creating or deleting an object or reporting an end; the bridge tries again.',
    labelNames: [],
  },
  rejected: {
    name: 'flightlog_bridge_launches_rejected_total',
    help: 'Launches that the bridge has rejected; why is the code of the error, or `others` if another engine may take the launch.',
    labelNames: ['why'],
  },
  offloaded: {
    name: 'flightlog_bridge_offloaded_bytes_total',
    help: 'Bytes of closures and inputs that were stored for the engines because they are too large for an object in a cluster.',
    labelNames: [],
  },
} satisfies Readonly<Record<string, MetricDefinition | HistogramDefinition>>;
