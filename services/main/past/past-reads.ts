import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { momentOf } from '../../../projections/query/moment.js';
import type { Moment } from '../../../projections/runtime/prefix-fold.js';
import { HistoryService } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { type Answer, type Call, type Route, RpcError } from '../../kernel/rpc.js';
import type { EngineDataSource } from '../engines/engine-data.js';
import { threadCaller } from '../threads/thread-caller.js';
import type { ViewsThreadData } from '../views/views-thread.js';
import { acceptsAsOf } from './as-of.js';

/** A read of the past: the RPC, its encoded request, and the requested moment, if any. */
export type PastQuestion = { readonly rpc: string; readonly request: Uint8Array; readonly until?: Moment };

/** The encoded answer, and the position of the log that it is based on, if any. */
export type PastAnswer = { readonly answer: Uint8Array; readonly position: bigint | undefined };

/** Answers reads of the past. */
export interface PastReader {
  /**
   * @throws {RpcError} as the route of the RPC; UNAVAILABLE when too many reads wait.
   * @throws {Fault} as the route of the RPC; {StreamParked} when an event of the stream cannot be read;
   * {StoreUnavailable} when the thread has failed or is closed.
   */
  ask(question: PastQuestion): Promise<PastAnswer>;
}

/** The number of reads that may wait for the thread: each may take a second. */
const MAX_WAITING = 64;

/** The worker data of the thread for reads of the past. */
export type PastThreadData = ViewsThreadData & { readonly engineStores: EngineDataSource };

/** Answers reads of the past on a thread of its own, because they fold or search whole streams. */
export const pastReader = (data: PastThreadData): PastReader & { close(): Promise<void> } => {
  const thread = threadCaller<PastQuestion, PastAnswer>({
    url: new URL('./past-thread.js', import.meta.url),
    workerData: data,
    maxWaiting: MAX_WAITING,
    tooMany: () => new RpcError('UNAVAILABLE', `${MAX_WAITING} reads of the past wait already; retry later`),
  });
  return { ask: (question) => thread.ask(question), close: () => thread.close() };
};

type Request = MessageShape<DescMessage>;

/** Makes the handler of an RPC that the reader answers; `momentIn` finds the moment that a request asks for. */
const handlerOf =
  (reader: PastReader, { method }: Pick<Route, 'method'>, momentIn: (request: Request) => Moment | undefined) =>
  async (request: Request, call: Call): Promise<Uint8Array> => {
    const until = momentIn(request);
    const encoded = toBinary(method.input, request);
    const { answer, position } = await reader.ask({ rpc: method.name, request: encoded, ...(until && { until }) });
    if (position !== undefined) call.answeredAt(position);
    return answer;
  };

/** Routes of the history; each is answered by the reader. */
export const pastRoutes = (reader: PastReader): readonly Route[] =>
  HistoryService.methods.map((method) => ({
    method,
    takes: 'message',
    handle: handlerOf(reader, { method }, () => undefined),
  }));

const asOfIn = (request: Request): string => (request as Request & { readonly asOf: string }).asOf;

/** Lets the reads that take a moment of the past be answered by the reader where a request names one. */
export const withPast = (routes: readonly Route[], reader: PastReader, logId: string): readonly Route[] =>
  routes.map((each) => {
    if (!acceptsAsOf(each)) return each;
    const readPast = handlerOf(reader, each, (request) => momentOf(asOfIn(request), 'as_of', logId));
    const handle = (request: Request, call: Call): Promise<Answer<DescMessage>> =>
      asOfIn(request) === '' ? each.handle(request as never, call) : readPast(request, call);
    return { ...each, handle };
  });
