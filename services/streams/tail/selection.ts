import type { TailRequest } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { type ExecutionEvent, executionCodec, flatFields } from '../../execution/events.js';
import { assertPhaseNames } from '../phase-names.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { CorruptEvent, StreamParked } from '../../kernel/fault.js';
import type { EventFilter, EventLog } from '../../kernel/ports/event-store.js';
import { invalid, missing } from '../../kernel/rpc.js';
import { categoryOf, componentsOf, type StreamName } from '../../kernel/stream.js';
import { EXECUTION_CATEGORY } from '../../kernel/execution-id.js';

/** Tells whether an event matches the filters of a tail. */
export type Matches = (event: RecordedEvent) => boolean | Promise<boolean>;

type Labels = Readonly<Record<string, string>>;

/**
 * Reads the labels of the execution of a stream: none for a stream of another category; `unreadable` when the event
 * that has them cannot be read.
 */
export type LabelsOf = (stream: StreamName) => Promise<Labels | 'unreadable'>;

const MAX_KNOWN = 10_000;
const NONE: Labels = {};

const createdIn = async (log: Pick<EventLog, 'readStream'>, stream: StreamName): Promise<Labels | undefined> => {
  for await (const page of log.readStream(stream)) {
    for (const recorded of page) {
      const event: ExecutionEvent = decodeEvent(executionCodec, recorded);
      if (event.type === 'ExecutionCreated') return event.data.spec?.labels?.values ?? NONE;
      if (event.type !== 'ExecutionVoided') return NONE;
    }
  }
  return undefined;
};

const orUnreadable = (error: unknown): 'unreadable' => {
  if (error instanceof StreamParked || error instanceof CorruptEvent) return 'unreadable';
  throw error;
};

/** Reads the labels of executions from the event of their creation; those of up to 10,000 streams are cached. */
export const labelsFrom = (log: Pick<EventLog, 'readStream'>): LabelsOf => {
  const known = new Map<StreamName, Labels | 'unreadable'>();
  return async (stream) => {
    if (categoryOf(stream) !== EXECUTION_CATEGORY) return NONE;
    const kept = known.get(stream);
    if (kept !== undefined) return kept;
    const found = await createdIn(log, stream).catch(orUnreadable);
    if (found === undefined) return NONE;
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(stream, found);
    return found;
  };
};

const pairOf = (label: string): readonly [string, string] => {
  const [, key, value = ''] = /^([^=]+)=(.*)$/su.exec(label) ?? [];
  if (key === undefined) throw invalid('labels', `${label} is not key=value`);
  return [key, value];
};

type Test = (event: RecordedEvent) => boolean;

const amongRequested = (
  requested: readonly string[],
  valueOf: (event: RecordedEvent) => string | undefined,
): readonly Test[] => (requested.length === 0 ? [] : [(event) => requested.includes(valueOf(event) ?? '')]);

const only = (requested: string, valueOf: (event: RecordedEvent) => string | undefined): readonly Test[] =>
  amongRequested(requested === '' ? [] : [requested], valueOf);

/**
 * Makes the test of the filters of a request. An execution whose labels cannot be read matches any labels: an event too
 * many harms a consumer less than one that it misses.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const tailFilter = (request: TailRequest, labelsOf: LabelsOf): Matches => {
  if (request.domain !== '' && request.project === '') throw missing('project');
  if (request.name !== '' && request.domain === '') throw missing('domain');
  assertPhaseNames(request.phases);
  const labels = request.labels.map(pairOf);
  const tests: readonly Test[] = [
    ...amongRequested(request.categories, ({ stream }) => categoryOf(stream)),
    ...amongRequested(request.types, ({ type }) => type),
    ...only(request.project, ({ stream }) => componentsOf(stream)[0]),
    ...only(request.domain, ({ stream }) => componentsOf(stream)[1]),
    ...only(request.name, (event) => flatFields(event).execution),
    ...only(request.nodeId, (event) => flatFields(event).node),
    ...amongRequested(request.phases, (event) => flatFields(event).phase),
  ];
  return (event) => {
    if (!tests.every((test) => test(event))) return false;
    if (labels.length === 0) return true;
    return labelsOf(event.stream).then(
      (eventLabels) => eventLabels === 'unreadable' || labels.every(([key, value]) => eventLabels[key] === value),
    );
  };
};

/** The filter that the log applies itself before events are read. */
export const logFilter = ({ categories, types }: TailRequest): EventFilter => ({
  ...(categories.length > 0 && { categories }),
  ...(types.length > 0 && { types }),
});
