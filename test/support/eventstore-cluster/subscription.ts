import { randomUUID } from 'node:crypto';
import type { ReadReq_Options as Options } from '../../../proto/gen/event_store/client/streams_pb.js';
import { type Filter, filterOf } from './filter.js';
import type { Stored } from './log-file.js';
import type { Node } from './node.js';
import {
  assertEventPosition,
  formOf,
  type From,
  positionOf,
  type ReadCall,
  revisionOf,
  streamOf,
  written,
} from './read-options.js';
import { invalidArgument, streamDeleted, tooSlow, unhandled } from './refusals.js';
import { visibleOf } from './streams.js';
import { answer, eventAnswer, type IdForm, positionFields } from './wire.js';

/** The number of live answers that may wait for a reader; with more, a subscription that stands still is dropped. */
const MAX_WAITING = 32;

/** Maximum number of answers in flight to the connection. */
const MAX_UNSENT = 16;

/** The time within which a slow reader must take an answer once more than {@link MAX_WAITING} wait, in milliseconds. */
const STALL_MS = 25;

/** The number of events that are read from the log at once. */
const PAGE_EVENTS = 100;

/** Sent once, after the history and before live events. */
const caughtUp = answer({ case: 'caughtUp', value: {} });

/** A subscription to the log or to a stream, to be sent from a position on. */
type Plan = {
  /** The position after which events are sent. */
  readonly after: bigint;
  /** True for an event that is sent. */
  readonly isWanted: (event: Stored) => boolean;
  /** The filter that the reader named, for checkpoints. */
  readonly filter: Filter | undefined;
  readonly form: IdForm;
};

/** Counts examined events; returns true when a checkpoint is due. */
const checkpoints = (filter: Filter | undefined): (() => boolean) => {
  let looked = 0;
  return () => filter !== undefined && (looked += 1) % filter.checkpointEvery === 0;
};

/** The answers to send for one event of the log: the event, a checkpoint, both or none. */
const answersFor = ({ isWanted, filter, form }: Plan): ((event: Stored) => readonly Buffer[]) => {
  const isDue = checkpoints(filter);
  return (event) => [
    ...(isWanted(event) ? [eventAnswer(event, form)] : []),
    ...(isDue() ? [answer({ case: 'checkpoint', value: positionFields(event.position) })] : []),
  ];
};

/**
 * Sends live events as they come. Ends when the reader disconnects, or when a slow reader has got the events that were
 * sent before it fell behind.
 */
const live = (
  { replica, remember }: Node,
  call: ReadCall,
  { after, toAnswers }: { after: bigint; toAnswers: (event: Stored) => readonly Buffer[] },
) =>
  new Promise<void>((resolve, reject) => {
    const mayAnswer = remember();
    const waiting: Buffer[] = [];
    /** True once the reader has left too many live events unread. */
    let isTooSlow = false;
    /** The answers that the connection has not taken yet. */
    let unsent = 0;
    /** The answers that the connection has taken. */
    let sent = 0;
    let stallTimer: NodeJS.Timeout | undefined;

    const send = (bytes: Buffer): void => {
      unsent += 1;
      call.write(bytes, () => {
        unsent -= 1;
        sent += 1;
        pump();
      });
    };
    const pump = (): void => {
      for (; unsent < MAX_UNSENT && !call.cancelled; waiting.shift()) {
        const [next] = waiting;
        if (next === undefined) break;
        send(next);
      }
      if (isTooSlow && unsent === 0) reject(tooSlow());
    };
    /** Drops a subscription that has sent no answer since the timer began; `sentBefore` were sent then. */
    const checkProgress = (sentBefore: number): void => {
      stallTimer = undefined;
      if (sent !== sentBefore) watchForStall();
      else if (waiting.length > MAX_WAITING) {
        stop();
        isTooSlow = true;
        waiting.length = 0;
        pump();
      }
    };
    const watchForStall = (): void => {
      if (waiting.length > MAX_WAITING) stallTimer ??= setTimeout(checkProgress, STALL_MS, sent);
    };
    const stop = replica.listen((events) => {
      if (!mayAnswer()) return;
      waiting.push(...events.filter(({ position }) => position > after).flatMap(toAnswers));
      pump();
      watchForStall();
    });
    call.once('cancelled', () => {
      stop();
      resolve();
    });
  });

/** Confirms the subscription, sends its history, and then live events until it ends. */
const follow = async (node: Node, call: ReadCall, plan: Plan): Promise<void> => {
  const { log, replica } = node;
  const toAnswers = answersFor(plan);
  const confirmation = answer({ case: 'confirmation', value: { subscriptionId: randomUUID() } });
  if (!(await written(call, confirmation))) return;
  let after = plan.after;
  for (let below = replica.end(); after + 1n < below; below = replica.end()) {
    const page = log.readForwards({ from: after + 1n, below, limit: PAGE_EVENTS });
    for (const bytes of page.flatMap(toAnswers)) if (!(await written(call, bytes))) return;
    after = page.length < PAGE_EVENTS ? below - 1n : (page.at(-1)?.position ?? below);
  }
  call.write(caughtUp);
  await live(node, call, { after, toAnswers });
};

/** The position after which a subscription begins; one that begins at the end, or beyond it, has no history. */
const afterOf = (node: Node, from: From): bigint => {
  if (from === 'start') return -1n;
  return from === 'end' ? node.replica.end() - 1n : from;
};

/** The plan of a subscription to the log. @throws when its position or filter is wrong. */
const allPlan = (node: Node, options: Options): Plan => {
  const from = positionOf(options);
  try {
    if (typeof from === 'bigint') assertEventPosition(node, from);
  } catch {
    throw unhandled();
  }
  const filter = options.filterOption.case === 'filter' ? filterOf(options.filterOption.value) : undefined;
  if (filter?.checkpointEvery === 0) throw invalidArgument('a checkpoint interval is needed');
  const isWanted = (event: Stored): boolean => filter?.matches(event) ?? true;
  return { after: afterOf(node, from), isWanted, filter, form: formOf(options) };
};

/** The plan of a subscription to a stream. @throws when the stream is deleted. */
const streamPlan = ({ log, replica }: Node, options: Options, stream: string): Plan => {
  const visible = visibleOf(log, stream, replica.end());
  if (visible === 'deleted') throw streamDeleted(stream);
  const from = revisionOf(options);
  const first = visible === 'missing' ? 0n : visible.first;
  const last = visible === 'missing' ? -1n : visible.last;
  const after = from === 'start' ? -1n : from === 'end' ? last : from;
  const isWanted = (event: Stored): boolean =>
    event.stream === stream && event.revision > after && event.revision >= first;
  return { after: -1n, isWanted, filter: undefined, form: formOf(options) };
};

/** Serves a subscription until it ends. */
export const subscribe = (node: Node, call: ReadCall, options: Options): Promise<void> => {
  const stream = streamOf(options);
  return follow(node, call, stream === undefined ? allPlan(node, options) : streamPlan(node, options, stream));
};
