import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { workerData } from 'node:worker_threads';
import type { Call, Route } from '../../kernel/rpc.js';
import { historyRoutes } from '../../streams/history/rpc.js';
import { openLog } from '../log-source.js';
import type { PastAnswer, PastQuestion } from '../past-reads.js';
import { openPayloads } from '../payloads.js';
import { answerAll } from './thread-caller.js';
import type { ViewsThreadData } from './views-thread.js';

// Answers reads of the past, over connections of its own.
const { directory, location, source } = workerData as ViewsThreadData;
const log = await openLog(source);
const payloads = await openPayloads({ directory, location });

const routes = new Map<string, Route>(historyRoutes({ log, payloads }).map((each) => [each.method.name, each]));

const answer = async ({ rpc, request }: PastQuestion): Promise<PastAnswer> => {
  const route = routes.get(rpc);
  if (!route) throw new Error(`${rpc} is not a read of the past`);
  const { method, handle } = route;
  let position: bigint | undefined;
  const call: Call = {
    principal: '',
    requestId: '',
    isCancelled: () => false,
    answeredAt: (at) => {
      position = at;
    },
  };
  const answered = await handle(fromBinary(method.input, request) as never, call);
  return { answer: answered instanceof Uint8Array ? answered : toBinary(method.output, answered), position };
};

answerAll(answer);
