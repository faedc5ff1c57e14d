import { create, type JsonValue } from '@bufbuild/protobuf';
import {
  type DiffRequest,
  type DiffResponse,
  DiffResponseSchema,
  type EntityDiff,
  HistoryEntity,
  HistoryService,
} from '../../proto/gen/platformidl/eventlog/history_pb.js';
import { invalid, type Route, route } from '../../services/kernel/rpc.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { momentOf } from '../query/moment.js';
import { executionNotFound, completeExecutionId } from '../query/execution-identifiers.js';
import type { FoldedPrefix, Moment } from '../runtime/prefix-fold.js';
import type { DocumentReads } from '../runtime/read-store.js';
import { leavesOf } from './difference.js';
import { entityDiff, type EntityKind, type ExtraLeaves } from './entities.js';
import { type ExecutionId, executionText } from '../../services/kernel/execution-id.js';

/** An execution at a moment: the documents of its stream up to then. */
export type PastExecution = FoldedPrefix & {
  readonly stream: StreamName;
  readonly store: DocumentReads;
  /** Reads its inputs, in JSON. */
  readonly inputs: () => Promise<JsonValue>;
};

/** Reads executions as they were at a moment of the past. */
export interface Moments {
  readonly logId: string;
  /** The kinds of entities, in the order in which differences list them. */
  readonly kinds: readonly EntityKind[];
  /** The execution at `until`, by default now; its position is 0n when it has no event up to then. */
  at(id: ExecutionId, until: Moment | undefined): Promise<PastExecution>;
}

type Sides = { readonly before: PastExecution; readonly after: PastExecution };

/** An entity of either side: the index of its kind, and its key without the name of the stream. */
type Subject = readonly [kind: number, key: string];

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
/** The number of entities that are compared at a time; each has a document before and one after, or one of them. */
const CHUNK = 100;

const limitOf = ({ limit }: DiffRequest): number => {
  if (limit > MAX_LIMIT) throw invalid('limit', `${limit} is above ${MAX_LIMIT}`);
  return limit || DEFAULT_LIMIT;
};

const tokenOf = (subject: Subject): string => Buffer.from(JSON.stringify(subject)).toString('base64url');

const subjectOf = (token: string): Subject | undefined => {
  if (token === '') return undefined;
  try {
    const [kind, key] = JSON.parse(Buffer.from(token, 'base64url').toString()) as unknown[];
    if (typeof kind === 'number' && typeof key === 'string') return [kind, key];
  } catch {
    // not JSON: refused below
  }
  throw invalid('token', 'not a token of this list');
};

const isAfter = ([kind, key]: Subject, last: Subject | undefined): boolean =>
  last === undefined || kind > last[0] || (kind === last[0] && key > last[1]);

const keysIn = ({ keys, stream }: PastExecution, { collection }: EntityKind): readonly string[] =>
  [...(keys.get(collection.name) ?? [])].map((key) => key.slice(stream.length));

const subjectsOf = ({ before, after }: Sides, kinds: readonly EntityKind[]): readonly Subject[] =>
  kinds.flatMap((kind, index) =>
    [...new Set([...keysIn(before, kind), ...keysIn(after, kind)])].sort().map((key): Subject => [index, key]),
  );

/** The answers of Get by the key without the name of the stream. */
const answersIn = async (
  { store, stream }: PastExecution,
  { collection }: EntityKind,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Uint8Array>> => {
  const found = await store.getMany(
    collection,
    keys.map((key) => stream + key),
  );
  return new Map(found.map(({ key, response }) => [key.slice(stream.length), response]));
};

/** The inputs of both executions; `undefined` for two moments of one execution, because inputs never change. */
const inputsOf = async ({ before, after }: Sides): Promise<ExtraLeaves | undefined> => {
  if (before.stream === after.stream) return undefined;
  const [first, second] = await Promise.all([before.inputs(), after.inputs()]);
  return { before: leavesOf({ inputs: first }), after: leavesOf({ inputs: second }) };
};

const isAskedBy = ({ paths }: DiffRequest): ((path: string) => boolean) =>
  paths.length === 0 ? () => true : (path) => paths.some((each) => path === each || path.startsWith(`${each}/`));

type Differing = readonly [Subject, EntityDiff];
type Comparing = { readonly kinds: readonly EntityKind[]; readonly request: DiffRequest };

const differingOf = async (
  sides: Sides,
  [index, kind]: readonly [number, EntityKind],
  { keys, request }: { readonly keys: readonly string[]; readonly request: DiffRequest },
): Promise<readonly Differing[]> => {
  const [before, after] = [await answersIn(sides.before, kind, keys), await answersIn(sides.after, kind, keys)];
  const further = kind.entity === HistoryEntity.EXECUTION ? await inputsOf(sides) : undefined;
  const options = { isAsked: isAskedBy(request), ...(further && { further }) };
  return keys.flatMap((key): readonly Differing[] => {
    const found = entityDiff(kind, { before: before.get(key), after: after.get(key) }, options);
    return found ? [[[index, key], found]] : [];
  });
};

/** Compares entities, chunk by chunk, until more of them differ than the page has, or all are compared. */
const compare = async (
  sides: Sides,
  subjects: readonly Subject[],
  { kinds, request }: Comparing,
): Promise<readonly Differing[]> => {
  const found: Differing[] = [];
  for (let at = 0; at < subjects.length && found.length <= limitOf(request); at += CHUNK) {
    const chunk = subjects.slice(at, at + CHUNK);
    for (const kind of kinds.entries()) {
      const keys = chunk.flatMap(([subjectKind, key]) => (subjectKind === kind[0] ? [key] : []));
      if (keys.length > 0) found.push(...(await differingOf(sides, kind, { keys, request })));
    }
  }
  return found;
};

/**
 * @throws {RpcError} NOT_FOUND when an execution has no event up to its moment: its position is 0 then;
 * INVALID_ARGUMENT naming the field.
 */
const sidesOf = async (moments: Moments, request: DiffRequest): Promise<Sides> => {
  const id = completeExecutionId(request.id);
  const other = { ...id, name: request.otherName || id.name };
  const until = momentOf(request.asOf, 'as_of', moments.logId);
  const otherUntil = momentOf(request.otherAsOf, 'other_as_of', moments.logId);
  const before = await moments.at(id, until);
  const after = await moments.at(other, otherUntil);
  for (const [side, executionId] of [
    [before, id],
    [after, other],
  ] as const)
    if (side.position === 0n) throw executionNotFound('execution', executionText(executionId));
  return { before, after };
};

const diff = async (moments: Moments, request: DiffRequest): Promise<DiffResponse> => {
  const last = subjectOf(request.token);
  const limit = limitOf(request);
  const sides = await sidesOf(moments, request);
  const subjects = subjectsOf(sides, moments.kinds).filter((each) => isAfter(each, last));
  const found = await compare(sides, subjects, { kinds: moments.kinds, request });
  const shown = found.slice(0, limit);
  const end = shown.at(-1);
  return create(DiffResponseSchema, {
    entities: shown.map(([, each]) => each),
    token: end && found.length > limit ? tokenOf(end[0]) : '',
    position: sides.before.position,
    otherPosition: sides.after.position,
  });
};

/**
 * Route of the difference of two moments. It folds whole streams, so it must not run on the thread that serves
 * requests.
 */
export const executionDiffRoutes = (moments: Moments): readonly Route[] => [
  route(HistoryService.method.diff, (request) => diff(moments, request)),
];
