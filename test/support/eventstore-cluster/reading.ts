import {
  type ReadReq_Options as Options,
  ReadReq_Options_ReadDirection as Direction,
  ReadReqSchema,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import { type Filter, filterOf } from './filter.js';
import type { Node } from './node.js';
import type { Stored } from './log-file.js';
import {
  badStreamRead,
  invalidArgument,
  notAPosition,
  notLeader,
  notReady,
  streamDeleted,
  unhandled,
} from './refusals.js';
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
import { visibleOf } from './streams.js';
import { subscribe } from './subscription.js';
import { answer, decoded, eventAnswer, type IdForm, streamIdentifier } from './wire.js';

/** The number of events that are read from the log at once. */
const PAGE_EVENTS = 100;

/** Events of a read, page by page, in the order of the read. */
type Pages = Generator<readonly Stored[]>;

function* allForwards({ log, replica }: Node, from: From): Pages {
  if (from === 'end') return;
  const below = replica.end();
  for (let next = from === 'start' ? 0n : from; next < below;) {
    const events = log.readForwards({ from: next, below, limit: PAGE_EVENTS });
    if (events.length > 0) yield events;
    next = events.length < PAGE_EVENTS ? below : (events.at(-1)?.position ?? below) + 1n;
  }
}

function* allBackwards({ log, replica }: Node, from: From): Pages {
  const start = from === 'start' ? 0n : from;
  for (let below = start === 'end' ? replica.end() : start; below > 0n;) {
    const events = log.readBackwards(below, PAGE_EVENTS);
    if (events.length > 0) yield events;
    below = events.length < PAGE_EVENTS ? 0n : (events.at(-1)?.position ?? 0n);
  }
}

function* streamPages(
  { log, replica }: Node,
  stream: string,
  range: { first: bigint; last: bigint; isBackwards: boolean },
): Pages {
  const { isBackwards } = range;
  let { first, last } = range;
  while (first <= last) {
    const events = log.readStream(stream, { first, last, isBackwards, below: replica.end(), limit: PAGE_EVENTS });
    if (events.length === 0) return;
    yield events;
    const edge = events.at(-1)?.revision ?? 0n;
    if (isBackwards) last = edge - 1n;
    else first = edge + 1n;
  }
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Sends the events that match the filter, at most `count` of them. */
const sendPages = async (
  call: ReadCall,
  pages: Pages,
  { count, form, filter }: { count: bigint; form: IdForm; filter?: Filter | undefined },
): Promise<void> => {
  let left = count;
  for (const page of pages)
    for (const event of page) {
      if (filter && !filter.matches(event)) continue;
      if (!(await written(call, eventAnswer(event, form)))) return;
      if (--left <= 0n) return;
    }
};

const readAll = async (node: Node, call: ReadCall, options: Options, count: bigint): Promise<void> => {
  const isBackwards = options.readDirection === Direction.Backwards;
  const from = positionOf(options);
  if (typeof from === 'bigint') assertEventPosition(node, from, isBackwards);
  const filter = options.filterOption.case === 'filter' ? filterOf(options.filterOption.value) : undefined;
  // As the real server: a read of no events fails, and with a filter it never ends.
  if (count === 0n) return filter ? new Promise(() => undefined) : Promise.reject(notAPosition());
  const pages = isBackwards ? allBackwards(node, from) : allForwards(node, from);
  await sendPages(call, pages, { count, form: formOf(options), filter });
};

/** The range of revisions of a read of a stream. */
const rangeOf = ({ first, last }: { first: bigint; last: bigint }, from: From, isBackwards: boolean) => {
  const begin = from === 'start' ? 0n : from === 'end' ? last : from;
  return isBackwards
    ? { first, last: least(last, begin), isBackwards }
    : { first: most(first, begin), last, isBackwards };
};

/** @throws the errors of the real server for a stream without a name, a read of no events, or forwards from the end. */
const assertReadable = (stream: string, from: From, count: bigint, isBackwards: boolean): void => {
  if (stream === '') throw unhandled();
  if (count === 0n || (from === 'end' && !isBackwards)) throw badStreamRead();
};

const readStream = async (node: Node, call: ReadCall, options: Options, count: bigint): Promise<void> => {
  const [stream, from] = [streamOf(options) ?? '', revisionOf(options)];
  const isBackwards = options.readDirection === Direction.Backwards;
  assertReadable(stream, from, count, isBackwards);
  const visible = visibleOf(node.log, stream, node.replica.end());
  if (visible === 'deleted') throw streamDeleted(stream);
  if (visible === 'missing') {
    await written(call, answer({ case: 'streamNotFound', value: { streamIdentifier: streamIdentifier(stream) } }));
    return;
  }
  const pages = streamPages(node, stream, rangeOf(visible, from, isBackwards));
  await sendPages(call, pages, { count, form: formOf(options) });
  // Clients that name a compatibility of 1 or more want the last revision after the events.
  if ((options.controlOption?.compatibility ?? 0) >= 1)
    await written(call, answer({ case: 'lastStreamPosition', value: visible.last }));
};

/** @throws when the call requires the leader and this node is not the leader. */
const assertLeader = ({ members }: Node, call: ReadCall): void => {
  const isWanted = String(call.metadata.get('requires-leader')[0] ?? '').toLowerCase() === 'true';
  if (!isWanted || members.isLeader()) return;
  const leader = members.leader();
  throw leader === undefined ? notReady() : notLeader(leader.port);
};

const read = async (node: Node, call: ReadCall): Promise<void> => {
  const { options } = decoded(ReadReqSchema, call.request);
  if (options === undefined) throw invalidArgument('options are missing');
  assertLeader(node, call);
  if (options.countOption.case === 'subscription') return subscribe(node, call, options);
  const count = options.countOption.value ?? 0n;
  await (streamOf(options) === undefined ? readAll : readStream)(node, call, options, count);
};

/** Serves reads and subscriptions. */
export const handleRead =
  (node: Node) =>
  (call: ReadCall): void => {
    const mayAnswer = node.remember();
    if (!mayAnswer()) return;
    read({ ...node, remember: () => mayAnswer }, call).then(
      () => mayAnswer() && call.end(),
      (error: unknown) => mayAnswer() && call.emit('error', error),
    );
  };
