import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { pathToFileURL } from 'node:url';
import { runBridge } from '../../../engine/bridge/bridge.js';
import { connectedCluster } from '../../../engine/bridge/cluster/connected-cluster.js';
import type { Offloads } from '../../../engine/bridge/offload.js';
import { createClient } from '../../../engine/client.js';
import type { Configuration } from '../../config/configuration.js';
import { OperatorError } from '../../config/operator-errors.js';
import { openLogger } from '../../main/logger.js';
import { assertPortIsFree } from '../../config/free-port.js';
import { type BridgeMetrics, openBridgeMetrics, type ClusterCall } from '../../metrics/bridge-metrics.js';
import { controlPlaneOf } from '../control-plane.js';
import { openTarget } from '../maintenance/object-target.js';
import { onStopSignals } from '../stop-signals.js';
import { type Cluster, ObjectRefused } from '../../../engine/bridge/cluster/cluster.js';
import { errorText } from '../../kernel/error-text.js';

const OK = 200;
const NOT_FOUND = 404;
const UNAVAILABLE = 503;

const answerTo = async (path: string, metrics: BridgeMetrics, response: ServerResponse): Promise<void> => {
  if (path === '/metrics') {
    const { mediaType, body } = await metrics.text();
    response.writeHead(OK, { 'content-type': mediaType }).end(body);
  } else if (path === '/healthz') response.writeHead(OK).end('ok\n');
  else if (path === '/readyz') {
    const isReady = metrics.isJoined();
    response.writeHead(isReady ? OK : UNAVAILABLE).end(isReady ? 'joined\n' : 'not joined\n');
  } else response.writeHead(NOT_FOUND).end();
};

/** Serves `/metrics`, `/healthz`, and `/readyz`, which says whether the bridge has joined the control plane. */
const serveBridgeProbes = async (
  { host, port }: { readonly host: string; readonly port: number },
  metrics: BridgeMetrics,
): Promise<void> => {
  const server = createServer((request, response) => {
    void answerTo(request.url ?? '', metrics, response);
  }).listen(port, host);
  await once(server, 'listening');
};

/** A cluster whose calls are counted and timed; its watches are not. */
const measuredCluster = (cluster: Cluster, metrics: Pick<BridgeMetrics, 'called'>): Cluster => {
  const timed = async <Answer>(call: string, work: Promise<Answer>): Promise<Answer> => {
    const startedMs = performance.now();
    const ended = (outcome: ClusterCall['outcome']): void =>
      metrics.called({ cluster: cluster.name, call, outcome, tookMs: performance.now() - startedMs });
    try {
      const answer = await work;
      ended('ok');
      return answer;
    } catch (error) {
      ended(error instanceof ObjectRefused ? 'refused' : 'away');
      throw error;
    }
  };
  return {
    name: cluster.name,
    find: (objectName) => timed('find', cluster.find(objectName)),
    create: (object) => timed('create', cluster.create(object)),
    delete: (object) => timed('delete', cluster.delete(object)),
    removeFinalizer: (object) => timed('release', cluster.removeFinalizer(object)),
    follow: (onObject, signal) => cluster.follow(onObject, signal),
  };
};

type Settings = Configuration['bridge'];

const clustersOf = (
  { clusters, name: madeBy, call_timeout: callTimeoutMs }: Settings,
  metrics: BridgeMetrics,
  onFailure: (name: string, error: Error) => void,
) =>
  clusters.map(({ name, labels, weight, ...connection }) => {
    try {
      const options = { name, madeBy, callTimeoutMs, onFailure: (error: Error) => onFailure(name, error) };
      return { name, labels, weight, cluster: measuredCluster(connectedCluster(connection, options), metrics) };
    } catch (error) {
      throw new OperatorError(`bridge.clusters: ${name}: ${errorText(error)}`, {
        cause: error,
      });
    }
  });

const offloadsOf = async (
  { offload_to: target, offload_above_bytes: aboveBytes }: Settings,
  metrics: BridgeMetrics,
): Promise<Offloads | undefined> => {
  if (target === '') return undefined;
  const store = await openTarget('bridge.offload_to', target, 'store of the bridge');
  const address = target.startsWith('s3:') ? store.shown : `${pathToFileURL(store.shown).href}/`;
  return {
    aboveBytes,
    put: async (path, bytes) => {
      await store.write(path, bytes);
      metrics.offloaded(bytes.length);
      return `${address}${path}`;
    },
  };
};

const serveProbes = async (configuration: Configuration, metrics: BridgeMetrics): Promise<void> => {
  const { host, bridge: settings } = configuration;
  if (settings.metrics_port === 0) return;
  await assertPortIsFree('metrics', host, settings.metrics_port);
  await serveBridgeProbes({ host, port: settings.metrics_port }, metrics);
};

/**
 * Runs a bridge until a stop signal.
 *
 * @throws {OperatorError} when a setting, a file that it names, or the port of metrics cannot be used.
 */
export const bridge = async (configuration: Configuration): Promise<void> => {
  const { bridge: settings, log_level: logLevel } = configuration;
  const logger = openLogger(logLevel);
  const metrics = openBridgeMetrics();
  const stop = new AbortController();
  void onStopSignals().then(() => stop.abort());
  const clusters = clustersOf(settings, metrics, (cluster, err) => {
    metrics.watchFailed(cluster);
    logger.warn({ cluster, err }, 'objects cannot be followed');
  });
  const { endpoint, group, name, scopes, capacity, concurrency } = settings;
  const plane = controlPlaneOf(
    {
      ...{ endpoint, tls: settings.tls, caFile: settings.ca_file, tokenFile: settings.token_file },
      ...{ clientId: settings.client_id, clientSecretFile: settings.client_secret_file },
      tokenUrl: settings.token_url,
    },
    logger,
  );
  const offloads = await offloadsOf(settings, metrics);
  await serveProbes(configuration, metrics);
  const client = createClient({ ...plane, concurrency, signal: stop.signal });
  logger.info({ endpoint, clusters: clusters.map((each) => each.name) }, 'bridging');
  await runBridge(
    {
      plane,
      group,
      engine: name,
      scopes,
      capacity,
      concurrency,
      clusters,
      ...(offloads && { offloads }),
      producerId: settings.producer_id,
      keepFinishedMs: settings.keep_finished,
      finalizerGraceMs: settings.finalizer_grace,
      object: {
        namespaceTemplate: settings.namespace_template,
        madeBy: name,
        roleKey: settings.role_key,
        eventVersion: settings.event_version,
        consoleUrl: settings.console_url,
      },
    },
    { client, logger, signal: stop.signal, watch: metrics },
  );
  client.close();
  process.exit(0);
};
