import { create } from '@bufbuild/protobuf';
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  HistoryService,
  type Transition,
  type TransitionList,
  type TransitionListRequest,
  TransitionListSchema,
} from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { type ExecutionEvent } from '../../execution/events.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import type { PayloadStore } from '../../kernel/ports/payload-store.js';
import { invalid, missing, type Route, route, RpcError } from '../../kernel/rpc.js';
import { type StreamName, streamName } from '../../kernel/stream.js';
import { assertPhaseNames } from '../phase-names.js';
import { transitionsOf, withReason } from './transitions.js';
import { EXECUTION_CATEGORY } from '../../kernel/execution-id.js';

/** The log that the history is read from, and its payloads. */
export type HistorySources = { readonly log: Pick<EventLog, 'readStream'>; readonly payloads: PayloadStore };

/** The place of a transition: the revision of its event, and its index among the transitions of the event. */
type Place = { readonly revision: bigint; readonly index: number };

type Found = Place & {
  readonly transition: Transition;
  readonly event: ExecutionEvent;
  readonly recorded: RecordedEvent;
};

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
const TOKEN = /^t(\d{1,19})\.(\d{1,9})$/;

const tokenOf = ({ revision, index }: Place): string => `t${revision}.${index}`;

const placeOf = (token: string): Place | undefined => {
  if (token === '') return undefined;
  const [, revision, index] = TOKEN.exec(token) ?? [];
  if (revision === undefined) throw invalid('token', 'not a token of this list');
  return { revision: BigInt(revision), index: Number(index) };
};

const limitOf = ({ limit }: TransitionListRequest): number => {
  if (limit > MAX_LIMIT) throw invalid('limit', `${limit} is above ${MAX_LIMIT}`);
  return limit || DEFAULT_LIMIT;
};

const streamOf = ({ id }: TransitionListRequest): StreamName => {
  if (!id) throw missing('id');
  for (const part of ['project', 'domain', 'name'] as const) if (id[part] === '') throw missing(`id.${part}`);
  return streamName(EXECUTION_CATEGORY, [id.project, id.domain, id.name]);
};

const msOf = (time: Timestamp | undefined, otherwise: number): number => (time ? timestampMs(time) : otherwise);

type Matches = (transition: Transition) => boolean;

/** Tests that a value is among the requested ones; true for every value when none are requested. */
const isAmong = <Value>(requested: readonly Value[], valueOf: (transition: Transition) => Value): Matches =>
  requested.length === 0 ? () => true : (each) => requested.includes(valueOf(each));

/** Makes the test whether a transition matches all the filters of a request. */
const matching = (request: TransitionListRequest): Matches => {
  const { entities, nodeId, phases, types, principal, changesOnly } = request;
  assertPhaseNames(phases);
  const from = msOf(request.recordedFrom, -Infinity);
  const before = msOf(request.recordedBefore, Infinity);
  const tests: readonly Matches[] = [
    isAmong(entities, ({ entity }) => entity),
    isAmong(nodeId === '' ? [] : [nodeId], (each) => each.nodeId),
    isAmong(phases, ({ phase }) => phase),
    isAmong(types, ({ type }) => type),
    isAmong(principal === '' ? [] : [principal], (each) => each.principal),
    ({ samePhase }) => !(changesOnly && samePhase),
    ({ recordedAt }) => msOf(recordedAt, 0) >= from && msOf(recordedAt, 0) < before,
  ];
  return (each) => tests.every((test) => test(each));
};

const isPast = (each: Place, after: Place | undefined, newestFirst: boolean): boolean => {
  if (!after) return true;
  if (each.revision !== after.revision) return each.revision > after.revision !== newestFirst;
  return newestFirst ? each.index < after.index : each.index > after.index;
};

/** Finds the matching transitions after a place, in the order of the request; more than it asks for, if there are. */
const search = async (
  { log, payloads }: HistorySources,
  request: TransitionListRequest,
): Promise<{ readonly found: readonly Found[]; readonly isThere: boolean }> => {
  const { newestFirst } = request;
  const after = placeOf(request.token);
  const limit = limitOf(request);
  const matches = matching(request);
  const found: Found[] = [];
  let isThere = false;
  const direction = newestFirst ? 'backwards' : 'forwards';
  const range = { direction, ...(after && { from: after.revision }) } as const;
  for await (const page of log.readStream(streamOf(request), range)) {
    isThere ||= page.length > 0;
    for (const recorded of page) {
      const { event, transitions } = await transitionsOf(recorded, payloads);
      const placed = transitions.map((transition, index) => ({
        transition,
        index,
        event,
        recorded,
        revision: recorded.revision,
      }));
      if (newestFirst) placed.reverse();
      found.push(...placed.filter((each) => isPast(each, after, newestFirst) && matches(each.transition)));
      if (found.length > limit) return { found, isThere };
    }
  }
  return { found, isThere };
};

const assertExecutionExists = async ({ log }: HistorySources, request: TransitionListRequest): Promise<void> => {
  for await (const page of log.readStream(streamOf(request), { limit: 1 })) if (page.length > 0) return;
  const { project = '', domain = '', name = '' } = request.id ?? {};
  throw new RpcError('NOT_FOUND', `execution ${project}/${domain}/${name} does not exist`);
};

/**
 * Lists a page of the transitions of an execution. Only the transitions that were found, and one page of events at a
 * time, are in memory.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field; NOT_FOUND when the execution has no events.
 * @throws {StreamParked} when an event cannot be read.
 * @throws {Fault} when the log, or a payload of an event, cannot be read.
 */
export const listTransitions = async (
  sources: HistorySources,
  request: TransitionListRequest,
): Promise<TransitionList> => {
  const limit = limitOf(request);
  const { found, isThere } = await search(sources, request);
  if (!isThere) await assertExecutionExists(sources, request);
  const shown = found.slice(0, limit);
  const [first] = shown;
  const last = shown.at(-1);
  const transitions: Transition[] = [];
  for (const each of shown)
    transitions.push(each.index === 0 ? await withReason(each, sources.payloads) : each.transition);
  return create(TransitionListSchema, {
    transitions,
    token: last && found.length > limit ? tokenOf(last) : '',
    previousToken: first ? tokenOf(first) : '',
  });
};

/** Routes of the history. They read whole streams, so they must not run on the thread that serves requests. */
export const historyRoutes = (sources: HistorySources): readonly Route[] => [
  route(HistoryService.method.listTransitions, (request) => listTransitions(sources, request)),
];
