import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { workerData } from 'node:worker_threads';
import { executionDiffRoutes } from '../../../projections/execution-diff/rpc.js';
import { openPrefixes } from '../../../projections/query/kept-prefixes.js';
import type { RecordedContents } from '../../../projections/query/recorded-contents.js';
import { temporaryReadStore } from '../../../projections/store/sqlite/temporary-read-store.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { Call, Route } from '../../kernel/rpc.js';
import { historyRoutes } from '../../streams/history/page.js';
import { openLog } from '../log/log-source.js';
import { codecs } from '../models.js';
import { neededPrefix, routesOver } from './as-of.js';
import type { PastAnswer, PastQuestion, PastThreadData } from './past-reads.js';
import { momentsIn } from './moments.js';
import { openEngineData } from '../engines/engine-data.js';
import { openPayloads } from '../payloads.js';
import { answerAll } from '../threads/thread-caller.js';

// This thread answers reads of the past. It opens the log and the payload store itself, because connections to a store
// belong to one thread.
const { directory, location, source, engineStores } = workerData as PastThreadData;
const log = await openLog(source);
const payloads = await openPayloads({ directory, location });
const prefixes = openPrefixes({ log, payloads, codecs, openStore: temporaryReadStore });
const engineData = await openEngineData(engineStores);
const contents: RecordedContents = { log, payloads, engineData, warn: () => undefined };

const callOf = (answeredAt: Call['answeredAt']): Call => ({
  principal: '',
  requestId: '',
  isCancelled: () => false,
  answeredAt,
  unread: (_, fault) => {
    throw fault; // an answer of this thread cannot name unread fields
  },
});

const moments = momentsIn(
  prefixes,
  contents,
  callOf(() => undefined),
);
const historyReads = [...historyRoutes({ log, payloads }), ...executionDiffRoutes(moments)];
const history = new Map<string, Route>(historyReads.map((each) => [each.method.name, each]));
const methods = new Map(AdminService.methods.map((method) => [method.name, method]));

const answered = async ({ method, handle }: Route, request: Uint8Array): Promise<PastAnswer> => {
  let position: bigint | undefined;
  const call = callOf((at) => {
    position = at;
  });
  const answer = await handle(fromBinary(method.input, request) as never, call);
  return { answer: answer instanceof Uint8Array ? answer : toBinary(method.output, answer), position };
};

/** Answers a read of an execution, its nodes or its tasks, over their documents as they were at a moment. */
const asOf = async ({ rpc, request, until }: PastQuestion): Promise<PastAnswer> => {
  const method = methods.get(rpc);
  if (!method) throw new Error(`AdminService has no ${rpc}`);
  const needed = neededPrefix(method, fromBinary(method.input, request));
  const { store, position } = await prefixes.open(needed, until);
  const route = routesOver(store, contents).find((each) => each.method === method);
  if (!route) throw new Error(`nothing answers ${rpc}`);
  return { ...(await answered(route, request)), position };
};

answerAll((question: PastQuestion) => {
  const route = history.get(question.rpc);
  return route ? answered(route, question.request) : asOf(question);
});
