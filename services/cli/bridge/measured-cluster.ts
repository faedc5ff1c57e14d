import { type Cluster, ObjectRefused } from '../../../engine/bridge/cluster/cluster.js';
import type { BridgeMetrics, ClusterCall } from '../../metrics/bridge-metrics.js';

/** A cluster whose calls are counted and timed; its watches are not. */
export const measuredCluster = (cluster: Cluster, metrics: Pick<BridgeMetrics, 'called'>): Cluster => {
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
