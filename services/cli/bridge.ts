import { runBridge } from '../../engine/bridge/bridge.js';
import { connectedCluster } from '../../engine/bridge/cluster/connected-cluster.js';
import { createClient } from '../../engine/client.js';
import type { Configuration } from '../config/configuration.js';
import { OperatorError } from '../config/operator-errors.js';
import { openLogger } from '../main/logger.js';
import { onStopSignals } from './stop-signals.js';

type Settings = Configuration['bridge'];

const clustersOf = (
  { clusters, name: madeBy, call_timeout: callTimeoutMs }: Settings,
  onFailure: (name: string, error: Error) => void,
) =>
  clusters.map(({ name, labels, weight, ...connection }) => {
    try {
      const options = { name, madeBy, callTimeoutMs, onFailure: (error: Error) => onFailure(name, error) };
      return { name, labels, weight, cluster: connectedCluster(connection, options) };
    } catch (error) {
      throw new OperatorError(`bridge.clusters: ${name}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  });

/** Runs a bridge until a stop signal. */
export const bridge = async ({ bridge: settings, log_level: logLevel }: Configuration): Promise<void> => {
  const logger = openLogger(logLevel);
  const stop = new AbortController();
  void onStopSignals().then(() => stop.abort());
  const clusters = clustersOf(settings, (cluster, err) => logger.warn({ cluster, err }, 'objects cannot be followed'));
  const { endpoint, group, name, scopes, capacity, concurrency } = settings;
  const client = createClient({ endpoint, concurrency, signal: stop.signal });
  logger.info({ endpoint, clusters: clusters.map((each) => each.name) }, 'bridging');
  await runBridge(
    {
      endpoint,
      group,
      engine: name,
      scopes,
      capacity,
      concurrency,
      clusters,
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
    { client, logger, signal: stop.signal },
  );
  client.close();
  process.exit(0);
};
