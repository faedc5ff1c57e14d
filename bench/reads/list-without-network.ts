import { executionsRoutes } from '../../projections/executions/rpc.js';
import type { Freshness } from '../../projections/query/freshness.js';
import { servingReadStore } from '../../projections/store/sqlite/serving-read-store.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { Call } from '../../services/kernel/rpc.js';
import { decodeRequest } from '../../services/gateway/exchange.js';
import { entities } from '../../services/main/models.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { noEngineData } from '../../services/main/engines/engine-data.js';

const call: Call = { principal: '', requestId: 'bench', isCancelled: () => false, answeredAt: () => undefined };

const fail = (): never => {
  throw new Error('ListExecutions has called a function that only a Get needs');
};
/** Never waits: this process has written nothing. */
const fresh: Freshness = {
  awaitAcknowledged: fail,
  recorded: fail,
  acknowledgedUnder: () => undefined,
  waitForPrefix: () => Promise.resolve(),
};

/**
 * Measures list pages in this process, after a warm-up, without the network.
 *
 * @returns milliseconds from the bytes of the request to those of the response, ascending.
 */
export const pageTimesWithoutNetwork = async (
  directory: string,
  request: Uint8Array,
  pages: number,
): Promise<number[]> => {
  const store = servingReadStore({ directory });
  const log = await sqliteLogReader({ directory });
  const payloads = filePayloadStore({ directory });
  const contents = { log, payloads, engineData: noEngineData, warn: fail };
  const route = executionsRoutes({ store, entities, freshness: fresh, contents }).find(
    ({ method }) => method === AdminService.method.listExecutions,
  );
  if (!route) throw new Error('executionsRoutes has no route for ListExecutions');
  const took: number[] = [];
  for (let page = 0; page < 2 * pages; page += 1) {
    const start = performance.now();
    await route.handle(decodeRequest(route, request) as never, call);
    if (page >= pages) took.push(performance.now() - start);
  }
  await Promise.all([store.close(), log.close(), payloads.close()]);
  return took.sort((a, b) => a - b);
};
