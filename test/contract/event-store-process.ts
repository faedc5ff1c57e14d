import type { Appended } from '../../services/kernel/ports/event-store.js';
import { type NewEvent } from '../../services/kernel/event.js';
import { Fault } from '../../services/kernel/fault.js';
import { sha256 } from '../../services/kernel/encoding/hash.js';
import { streamName, type StreamName } from '../../services/kernel/stream.js';
import { lockDataDirectory } from '../../services/store/data-directory.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import type { Synchronous } from '../../services/store/log/schema.js';
import { sqliteEventStore } from '../../services/store/log/sqlite-event-store.js';

/** The work of a process that writes to a data directory. */
export type Work = {
  readonly directory: string;
  /** The number of streams that are appended to concurrently, one event after another in each. */
  readonly streams: number;
  readonly eventsEach: number;
  /** Size of the data of each event. */
  readonly dataBytes?: number;
  readonly synchronous?: Synchronous;
  /** Puts a payload into the payload store before each event. */
  readonly withPayloads?: boolean;
  /** Drops root privileges first, to this user. */
  readonly userId?: number;
  /** Reports each failed append, and after one keeps the log open until the process is killed. */
  readonly reportsFaults?: boolean;
  /** Keeps the directory locked until its standard input ends. */
  readonly keepsLock?: boolean;
};

/**
 * A message that a process writes about its work, as one JSON object in a line of its standard output: it has locked
 * the directory (with its process id); an append was acknowledged; the append to the stream `failed` at the revision
 * `at` has failed; a fault ends the process; the number of commits that the log has made, before it is closed.
 */
export type ProcessMessage =
  | { readonly locked: number }
  | { readonly stream: string; readonly revision: number; readonly position: number }
  | { readonly failed: string; readonly code: string; readonly at: number }
  | { readonly fault: string; readonly message: string }
  | { readonly commits: number };

const say = (message: ProcessMessage): void => void process.stdout.write(`${JSON.stringify(message)}\n`);

/** The stream with a number. */
export const workStream = (stream: number): StreamName => streamName('execution', [`e${stream}`]);

/** The event at a revision of a stream; the same in every process, so that it can be sent again. */
export const workEvent = (stream: number, revision: number, dataBytes = 100): NewEvent => ({
  id: sha256(`${stream}/${revision}`).subarray(0, 16),
  type: 'NodePhaseReported',
  data: new Uint8Array(dataBytes).fill(revision),
  metadata: '{}',
});

/** Waits for an append; when that fails, reports it and waits until the process is killed, with the log open. */
const acknowledgedOrReported = (stream: number, at: number, appended: Promise<Appended>): Promise<Appended> =>
  appended.catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    say({ failed: workStream(stream), code: error.code, at });
    process.stdin.resume();
    return new Promise(() => undefined);
  });

const write = async (work: Work): Promise<void> => {
  const store = await sqliteEventStore(work);
  const payloads = filePayloadStore(work);
  const appendAll = async (stream: number): Promise<void> => {
    for (let at = 0; at < work.eventsEach; at += 1) {
      const event = workEvent(stream, at, work.dataBytes);
      if (work.withPayloads === true) await payloads.put('definitions/a', Buffer.from(`${stream}/${at}`));
      const expected = at === 0 ? 'no-stream' : BigInt(at - 1);
      const appended = store.append(workStream(stream), expected, [event]);
      const { revision, position } = await (work.reportsFaults === true
        ? acknowledgedOrReported(stream, at, appended)
        : appended);
      say({ stream: workStream(stream), revision: Number(revision), position: Number(position) });
    }
  };
  try {
    await Promise.all(Array.from({ length: work.streams }, (_, stream) => appendAll(stream)));
  } finally {
    say({ commits: store.commits() });
    await store.close();
  }
};

const run = async (work: Work): Promise<void> => {
  if (work.userId !== undefined) process.setuid?.(work.userId);
  try {
    const lock = await lockDataDirectory(work.directory);
    say({ locked: process.pid });
    await write(work);
    if (work.keepsLock === true) await new Promise((resolve) => process.stdin.resume().once('end', resolve));
    lock.release();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    say({ fault: error.code, message: error.message });
  }
};

const [, file, workJson] = process.argv;
if (workJson !== undefined && file?.endsWith('event-store-process.js') === true)
  await run(JSON.parse(workJson) as Work);
