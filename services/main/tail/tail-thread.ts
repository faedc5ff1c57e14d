import { fromBinary } from '@bufbuild/protobuf';
import { parentPort, workerData } from 'node:worker_threads';
import {
  type TailRequest,
  TailRequest_Format as Format,
  TailRequestSchema,
} from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { asError } from '../../kernel/error-text.js';
import type { FollowForm } from '../../kernel/rpc.js';
import { openLiveFeed } from '../../streams/tail/live-feed.js';
import { labelsFrom } from '../../streams/tail/selection.js';
import { sharedBatches, type TailSources, tailLog } from '../../streams/tail/tail.js';
import { openLog } from '../log/log-source.js';
import { openPayloads } from '../payloads.js';
import { tailEncodings, type TailForm } from './encodings.js';
import { tailWaits } from './tail-waits.js';
import { batchMessages } from '../threads/messages.js';
import { type TailCommand, tailFailureOf, type TailMessage } from './tails.js';
import type { ViewsThreadData } from '../views/views-thread.js';

// This thread follows the log for all tails of the process. It opens the log and the payload store itself, because
// connections to a store belong to one thread.
const { directory, location, source } = workerData as ViewsThreadData;
const log = await openLog(source);
const encodings = tailEncodings(await openPayloads({ directory, location }));
const feed = await openLiveFeed(log);
const sources: TailSources = {
  log,
  feed,
  labelsOf: labelsFrom(log),
  batches: sharedBatches(),
  reach: tailWaits(log, feed),
};

type RunningTail = { isClosed: boolean; onTaken: () => void };

const running = new Map<number, RunningTail>();
const send = batchMessages<TailMessage>((messages) => parentPort?.postMessage(messages));

const formOf = (form: FollowForm, { format }: TailRequest): TailForm => {
  if (form === 'events') return 'events';
  return format === Format.PROTOBUF ? 'protobuf' : 'json';
};

type OpenCommand = Extract<TailCommand, { readonly open: number }>;

/** Sends the events of one tail in batches; waits after each batch until the consumer has taken it. */
const runTail = async ({ open: id, request: encoded, form }: OpenCommand): Promise<void> => {
  const state: RunningTail = { isClosed: false, onTaken: () => undefined };
  running.set(id, state);
  try {
    const request = fromBinary(TailRequestSchema, encoded);
    const consumer = { encoding: encodings[formOf(form, request)], isOver: () => state.isClosed };
    for await (const answers of tailLog(sources, request, consumer)) {
      const taken = new Promise<void>((resolve) => (state.onTaken = resolve));
      send({ id, answers });
      if (!state.isClosed) await taken;
    }
  } catch (error) {
    send({ id, failure: tailFailureOf(error) });
  } finally {
    running.delete(id);
  }
};

const endTail = (id: number): void => {
  const state = running.get(id);
  if (!state) return;
  state.isClosed = true;
  state.onTaken();
};

const handle = (command: TailCommand): void => {
  if ('request' in command) void runTail(command);
  else if ('taken' in command) running.get(command.taken)?.onTaken();
  else endTail(command.close);
};

parentPort?.on('message', (commands: readonly TailCommand[]) => commands.forEach(handle));
feed.ended.catch((error: unknown) => {
  throw asError(error); // ends the thread, and every tail with it
});
