import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { parentPort, workerData } from 'node:worker_threads';
import {
  TailRequestSchema,
  type TailResponse,
  TailResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { Fault } from '../../kernel/fault.js';
import { RpcError } from '../../kernel/rpc.js';
import { openLiveFeed } from '../../streams/tail/live-feed.js';
import { labelsFrom } from '../../streams/tail/selection.js';
import { tail, type TailSources } from '../../streams/tail/tail.js';
import { uuidText } from '../../reactors/export-to-kafka/cloud-event.js';
import { lineOf } from '../event-json/event-line.js';
import { wholeEventEncoder, readable } from '../event-json/readable.js';
import { openLog } from '../log-source.js';
import { openPayloads } from '../payloads.js';
import type { TailCommand, TailMessage } from '../tail/tails.js';
import type { ViewsThreadData } from './views-thread.js';

// Follows the log for all tails of this process, over connections of its own.
const { directory, location, source } = workerData as ViewsThreadData;
const log = await openLog(source);
const payloads = await openPayloads({ directory, location });
const feed = await openLiveFeed(log);
const dataOf = readable(payloads);
const whole = wholeEventEncoder(payloads);
const lines = new WeakMap<object, Promise<string>>();

const sources: TailSources = {
  log,
  feed,
  labelsOf: labelsFrom(log),
  present: {
    // All tails share the events of the live feed, and so their lines.
    json: (event) => {
      const line = lines.get(event) ?? lineOf(event, dataOf).then((text) => text.trimEnd());
      lines.set(event, line);
      return line;
    },
    message: (event) => whole.message(event),
    idText: uuidText,
  },
};

/** A batch of answers is sent when it has this many, or when the tail is about to wait. */
const BATCH = 128;

type Running = { isOver: boolean; taken: () => void };

const running = new Map<number, Running>();
const say = (message: TailMessage): void => parentPort?.postMessage(message);

const failureOf = (error: unknown): NonNullable<TailMessage['failure']> => {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  return { code: undefined, message: error instanceof Fault ? error.message : String(error) };
};

/** Sends the answers, and waits after each batch until the consumer has taken it. */
const run = async (id: number, request: Uint8Array): Promise<void> => {
  const state: Running = { isOver: false, taken: () => undefined };
  running.set(id, state);
  let batch: Uint8Array[] = [];
  const send = async (): Promise<void> => {
    const taken = new Promise<void>((resolve) => (state.taken = resolve));
    say({ id, answers: batch });
    batch = [];
    await taken;
  };
  try {
    const onWait = async (): Promise<void> => {
      if (batch.length > 0 && !state.isOver) await send();
    };
    const answers = tail(sources, fromBinary(TailRequestSchema, request), { isOver: () => state.isOver, onWait });
    for await (const each of answers as AsyncIterable<TailResponse>) {
      batch.push(toBinary(TailResponseSchema, each));
      if (batch.length >= BATCH && !state.isOver) await send();
    }
  } catch (error) {
    say({ id, failure: failureOf(error) });
  } finally {
    running.delete(id);
  }
};

const over = (id: number): void => {
  const state = running.get(id);
  if (!state) return;
  state.isOver = true;
  state.taken();
};

parentPort?.on('message', (command: TailCommand) => {
  if ('request' in command) void run(command.open, command.request);
  else if ('taken' in command) running.get(command.taken)?.taken();
  else over(command.close);
});
feed.ended.catch((error: unknown) => {
  throw error instanceof Error ? error : new Error(String(error)); // ends the thread, and every tail with it
});
