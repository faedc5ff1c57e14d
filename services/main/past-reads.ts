import { type DescMessage, type DescMethod, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { HistoryService } from '../../proto/gen/platformidl/eventlog/history_pb.js';
import { type Call, type Route, RpcError } from '../kernel/rpc.js';
import { threadCaller } from './threads/thread-caller.js';
import type { ViewsThreadData } from './threads/views-thread.js';

/** A read of the past: the RPC, and its encoded request. */
export type PastQuestion = { readonly rpc: string; readonly request: Uint8Array };

/** The encoded answer, and the position that it is based on, where it is based on one. */
export type PastAnswer = { readonly answer: Uint8Array; readonly position: bigint | undefined };

/** Answers reads of the past. */
export interface PastReader {
  /**
   * @throws {RpcError} as the route of the RPC; UNAVAILABLE when too many reads wait.
   * @throws {StoreUnavailable} when the log cannot be read.
   */
  ask(question: PastQuestion): Promise<PastAnswer>;
}

/** The number of reads that may wait for the thread: each may take a second. */
const MAX_WAITING = 64;

/** Answers reads of the past on a thread of its own, because they fold or search whole streams. */
export const pastReader = (data: ViewsThreadData): PastReader & { close(): Promise<void> } => {
  const thread = threadCaller<PastQuestion, PastAnswer>({
    url: new URL('./threads/past-thread.js', import.meta.url),
    workerData: data,
    maxWaiting: MAX_WAITING,
    tooMany: () => new RpcError('UNAVAILABLE', `${MAX_WAITING} reads of the past wait already; retry later`),
  });
  return { ask: (question) => thread.ask(question), close: () => thread.close() };
};

const askPast = async (
  reader: PastReader,
  method: DescMethod,
  request: MessageShape<DescMessage>,
  call: Call,
): Promise<Uint8Array> => {
  const { answer, position } = await reader.ask({ rpc: method.name, request: toBinary(method.input, request) });
  if (position !== undefined) call.answeredAt(position);
  return answer;
};

/** Routes of the history; each is answered by the reader. */
export const pastRoutes = (reader: PastReader): readonly Route[] =>
  HistoryService.methods.map((method) => ({
    method,
    takes: 'message',
    handle: (request: MessageShape<DescMessage>, call) => askPast(reader, method, request, call),
  }));
