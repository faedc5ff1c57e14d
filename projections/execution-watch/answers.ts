import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { ExecutionSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import {
  type WatchResponse,
  WatchResponse_Kind as Kind,
  WatchResponseSchema,
} from '../../proto/gen/platformidl/eventlog/watch_pb.js';
import { encodedField } from '../../services/kernel/encoding/field-bytes.js';
import type { StoredDocument } from '../runtime/read-store.js';
import type { EventChange, FoldedDocument } from './folded-execution.js';

/** An encoded answer of a watch. */
export type WatchAnswer = {
  readonly kind: Kind;
  readonly position: bigint;
  /** False for a page of a state or change that continues in the next answer: a caller cannot resume after it. */
  readonly isWhole: boolean;
  readonly bytes: Uint8Array;
  /** The execution's stream, for a change of a list. */
  readonly stream?: string;
};

/**
 * Limits of one answer: its number of documents, and their bytes. A larger document is an answer of its own. The state
 * of a list comes in the pages of its reads instead.
 */
const MAX_DOCUMENTS = 256;
const MAX_BYTES = 256 * 1024;

const { executions, nodes, tasks } = WatchResponseSchema.field;

/** The field of an answer that has the documents of a collection. */
const FIELDS: ReadonlyMap<string, number> = new Map([
  ['executions', executions.number],
  ['node-executions', nodes.number],
  ['task-executions', tasks.number],
]);

/** Splits documents into the pages of answers; always at least one page. */
const pagesOf = function* (documents: readonly FoldedDocument[]): Generator<readonly FoldedDocument[]> {
  let page: FoldedDocument[] = [];
  let bytes = 0;
  for (const each of documents) {
    const size = each.document.response.length;
    if (page.length > 0 && (page.length === MAX_DOCUMENTS || bytes + size > MAX_BYTES)) {
      yield page;
      [page, bytes] = [[], 0];
    }
    page.push(each);
    bytes += size;
  }
  yield page;
};

type AnswerHeader = Pick<WatchResponse, 'kind' | 'position'> & {
  readonly hasMore?: boolean;
  readonly type?: string;
  readonly recordedAt?: Timestamp;
  readonly noLongerMatching?: WatchResponse['noLongerMatching'];
};

const answerOf = (header: AnswerHeader, documents: readonly FoldedDocument[]): WatchAnswer => {
  const message = create(WatchResponseSchema, header);
  // Documents are stored in the encoding of the answer, so none is decoded.
  message.$unknown = documents.flatMap(({ collection, document }) => {
    const field = FIELDS.get(collection.name);
    return field === undefined ? [] : [encodedField(field, document.response)];
  });
  const { kind, position, hasMore = false } = header;
  return { kind, position, isWhole: !hasMore, bytes: toBinary(WatchResponseSchema, message) };
};

const answersOf = function* (header: AnswerHeader, documents: readonly FoldedDocument[]): Generator<WatchAnswer> {
  let page: readonly FoldedDocument[] | undefined;
  for (const next of pagesOf(documents)) {
    if (page) yield answerOf({ ...header, hasMore: true }, page);
    page = next;
  }
  yield answerOf(header, page ?? []);
};

/** The answer for one page of a state. */
export const statePage = (documents: readonly FoldedDocument[], position: bigint, hasMore: boolean): WatchAnswer =>
  answerOf({ kind: Kind.STATE, position, hasMore }, documents);

/** The answers for the state at a position. */
export const stateAnswers = (documents: readonly FoldedDocument[], position: bigint): Generator<WatchAnswer> =>
  answersOf({ kind: Kind.STATE, position }, documents);

/** The answers for what one event has changed. */
export const changeAnswers = ({ position, type, recordedAtMs, documents }: EventChange): Generator<WatchAnswer> =>
  answersOf({ kind: Kind.CHANGE, position, type, recordedAt: timestampFromMs(recordedAtMs) }, documents);

/** The answer for a change after which an execution no longer matches a list. */
export const leftAnswer = (
  { position, type, recordedAtMs }: EventChange,
  { response }: StoredDocument,
): WatchAnswer => {
  const { id } = fromBinary(ExecutionSchema, response);
  const recordedAt = timestampFromMs(recordedAtMs);
  return answerOf({ kind: Kind.CHANGE, position, type, recordedAt, noLongerMatching: id ? [id] : [] }, []);
};

/** An answer without documents: the end of an execution, or a checkpoint. */
export const bareAnswer = (kind: Kind.END | Kind.CHECKPOINT, position: bigint): WatchAnswer =>
  answerOf({ kind, position }, []);
