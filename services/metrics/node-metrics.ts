import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * Time between two samples of the event loop delay. Each sample wakes the process, also when it has nothing to do, and
 * each delay that is shown includes this time.
 */
const DELAY_SAMPLE_MS = 50;

/** Opens a registry with the metrics of Node: event loop delay, heap, garbage collection. */
export const openRegistry = (): Registry => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: DELAY_SAMPLE_MS });
  return registry;
};
