import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { DatabaseSync } from '@photostructure/sqlite';
import { ResourceListRequestSchema } from '../../proto/gen/platformidl/admin/common_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { executionCollection } from '../../projections/executions/columns.js';
import { VIEWS_FILE } from '../../projections/store/sqlite/sqlite-read-store.js';
import { tableOf } from '../../projections/store/sqlite/tables.js';
import { grpcClient, type GrpcClient } from '../../test/support/clients/grpc-client.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import type { Bench, BenchOptions, Figure } from '../bench.js';
import { pageTimesWithoutNetwork } from './list-without-network.js';
import { assertAllOk } from '../load/acknowledged.js';
import { writeFrames } from '../load/frames.js';
import { median, percentile } from '../percentile.js';
import { generateLoad } from '../load/processes.js';
import { createRequests, DOMAIN, PROJECT, registerHello } from '../load/workload.js';

/** Executions of a page. */
const PAGE = 100;
/** Number of times that each page is read. */
const PAGES = 300;
const CREATE = '/flyteidl.service.AdminService/CreateExecution';
const LIST = '/flyteidl.service.AdminService/ListExecutions';
const TABLE = tableOf(executionCollection);

/** The baseline: reads the first page straight from the file of the views, the same rows over the same index. */
const bareReads = (directory: string): { perSecond: number; p50Ms: number } => {
  const db = new DatabaseSync(join(directory, VIEWS_FILE), { readOnly: true });
  const page = db.prepare(
    `SELECT coalesce(element, answer) FROM ${TABLE} WHERE f_project = ? AND f_domain = ? AND f_state = 0
     ORDER BY f_created_at DESC, key DESC LIMIT ${PAGE}`,
  );
  page.setReturnArrays(true);
  const took = Array.from({ length: PAGES }, () => {
    const start = performance.now();
    page.all(PROJECT, DOMAIN);
    return performance.now() - start;
  });
  db.close();
  const sum = took.reduce((all, each) => all + each, 0);
  return { perSecond: (PAGES * 1_000) / sum, p50Ms: median(took) };
};

const pageRequest = (token: string): Uint8Array =>
  toBinary(
    ResourceListRequestSchema,
    create(ResourceListRequestSchema, {
      id: { project: PROJECT, domain: DOMAIN },
      limit: PAGE,
      token,
      sortBy: { key: 'created_at' },
    }),
  );

/**
 * Reads the whole list in pages of 1,000.
 *
 * @returns the token of the last page that begins before 90 % of the list.
 * @throws {Error} when the list has not `expected` executions.
 */
const readWholeList = async (client: GrpcClient, expected: number): Promise<string> => {
  let token = '';
  let seen = 0;
  let deep = '';
  do {
    const page = await client.call(AdminService.method.listExecutions, {
      id: { project: PROJECT, domain: DOMAIN },
      limit: 1_000,
      token,
      sortBy: { key: 'created_at' },
    });
    seen += page.executions.length;
    if (seen < expected * 0.9) deep = page.token;
    token = page.token;
  } while (token !== '');
  if (seen !== expected) throw new Error(`the pages have ${seen} executions, not ${expected}`);
  return deep;
};

const measure = async ({ disk, count, nodeArgs }: BenchOptions): Promise<readonly Figure[]> => {
  const data = join(disk.directory, 'list');
  const framesFile = join(disk.directory, 'list-frames');
  const server = await startServerProcess({ data, nodeArgs, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  writeFrames(framesFile, createRequests('bench', count));
  const target = { address: server.ready.grpc, framesFile, from: 0 };
  await generateLoad({ ...target, path: CREATE, count, inFlight: 128 });
  const deepToken = await readWholeList(client, count);
  const bare = bareReads(data);
  const figures: Figure[] = [];
  for (const [where, token] of [
    ['first page', ''],
    ['a page at 90 %', deepToken],
  ] as const) {
    writeFrames(
      framesFile,
      Array.from({ length: PAGES }, () => pageRequest(token)),
    );
    const load = await generateLoad({ ...target, path: LIST, count: PAGES, inFlight: 1 });
    assertAllOk(load);
    const atServer = await pageTimesWithoutNetwork(data, pageRequest(token), PAGES);
    figures.push({
      name: `list ${PAGE} of ${count.toLocaleString('en')}, ${where}, one at a time over gRPC`,
      baseline: { what: 'bare range read', perSecond: bare.perSecond },
      perSecond: load.perSecond,
      notes: {
        p50Ms: load.p50Ms,
        p99Ms: load.p99Ms,
        serverP50Ms: percentile(atServer, 0.5),
        serverP99Ms: percentile(atServer, 0.99),
        bareP50Ms: bare.p50Ms,
      },
    });
  }
  client.close();
  await server.stop();
  return figures;
};

/**
 * Pages of executions: the time at the client, and the server's part of it, from the bytes of a request to those of its
 * response.
 */
export const lists: Bench = {
  name: 'list',
  target: 0,
  // 100,000 executions with the default count.
  run: (options) => measure({ ...options, count: Math.ceil((options.count * 5) / 3) }),
};
