import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import { crossingOf } from '../../kernel/crossing-faults.js';
import { Fault, OutcomeUnknown, StoreUnavailable } from '../../kernel/fault.js';
import type { Append } from '../append.js';
import { unpackAppends } from './append-batch.js';
import { kindHeadsIn, publishHead } from './head.js';
import { openForWriting } from './schema.js';
import { logWriter, type LogWriter } from './writer.js';
import { firstChanged, pathIdentity } from '../path-identity.js';
import { openFault, writeFault } from './sqlite-fault.js';
import type { WriterAnswer, FromWriter, ToWriter, WriterSettings } from './writer-messages.js';

/**
 * A transaction takes no further message once those that it has taken have this size in all, in bytes: one more would
 * only delay its first answers.
 */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

const faultMessage = (fault: Fault): FromWriter & { type: 'failed' } => ({ type: 'failed', fault: crossingOf(fault) });

const answerOf = (placements: ReturnType<LogWriter['commit']>, syncMs: number): WriterAnswer => {
  const places = new Float64Array(placements.length * 2);
  const conflicts: [index: number, text: string][] = [];
  placements.forEach((placed, i) => {
    if ('conflict' in placed) conflicts.push([i, placed.conflict]);
    else places.set([placed.revision, placed.position], i * 2);
  });
  return { type: 'placed', places, conflicts, syncMs };
};

/**
 * Commits appends and returns their results. When the files of the log are no longer at their paths, nothing is
 * written, and a commit made just before this was noticed is not acknowledged.
 */
const answering = (writer: LogWriter, path: string): ((appends: readonly Append[]) => WriterAnswer) => {
  const files = [pathIdentity(path), pathIdentity(`${path}-wal`)];
  return (appends) => {
    try {
      const before = firstChanged(files);
      if (before !== undefined) throw new StoreUnavailable(`log ${path} cannot be written: ${before}`);
      const answer = answerOf(writer.commit(appends), writer.syncMs());
      const after = firstChanged(files);
      if (after !== undefined) throw new OutcomeUnknown(`log ${path} is lost or elsewhere: ${after}`);
      return answer;
    } catch (error) {
      const fault = error instanceof Fault ? error : writeFault(path, error);
      return { ...faultMessage(fault), count: appends.length };
    }
  };
};

const serve = (port: MessagePort, { path, synchronous, hotTypes, head }: WriterSettings): void => {
  const { db, head: headAtStart } = openForWriting(path, synchronous);
  const writer = logWriter(db, { hotTypes, head: headAtStart, kindHeads: kindHeadsIn(head) });
  const answerTo = answering(writer, path);
  const post = (message: FromWriter, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);

  const close = (): void => {
    // The binding leaves statements open and so would leave the write-ahead log; it is merged into the file here.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
    port.close();
  };

  /**
   * Commits the first message together with others that wait in the port. Returns the request to close when it came
   * after them.
   */
  const commitFrom = (first: Uint8Array): ToWriter | undefined => {
    const appends = unpackAppends(first);
    let bytes = first.length;
    let next: ToWriter | undefined;
    while (bytes < MAX_BATCH_BYTES) {
      const received: { message: ToWriter } | undefined = receiveMessageOnPort(port);
      next = received?.message;
      if (!(next instanceof Uint8Array)) break;
      bytes += next.length;
      appends.push(...unpackAppends(next));
      next = undefined;
    }
    const answer = answerTo(appends);
    publishHead(head, writer.head());
    post(answer, answer.type === 'placed' ? [answer.places.buffer] : []);
    return next;
  };

  port.on('message', (message: ToWriter) => {
    const after = message instanceof Uint8Array ? commitFrom(message) : message;
    if (after === 'close') close();
  });
  publishHead(head, writer.head());
  post({ type: 'ready' });
};

if (parentPort) {
  const settings = workerData as WriterSettings;
  try {
    serve(parentPort, settings);
  } catch (error) {
    parentPort.postMessage(faultMessage(openFault(settings.path, error)));
    parentPort.close();
  }
}
