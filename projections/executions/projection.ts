import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type Execution,
  type ExecutionClosure,
  ExecutionSchema,
} from '../../proto/gen/platformidl/admin/execution_pb.js';
import { ExecutionError_ErrorKind, WorkflowExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { ENGINE_REPORTED } from '../../services/execution/events.js';
import { durationClass } from '../query/duration-class.js';
import { endsOf } from '../query/clip.js';
import { enumName } from '../query/enum-name.js';
import type { ReadModel } from '../runtime/read-model.js';
import { pairsText, type StoredDocument } from '../runtime/read-store.js';
import { readModel } from '../runtime/typed-read-model.js';
import { microsOf } from '../query/times.js';
import { executionCollection, PHASES_WITH_ERROR } from './columns.js';
import { closureOf, type ExecutionDocument, listElement, getAnswer } from './document.js';
import { type FollowedEvent, handlers } from './fold.js';
import { storedOrigin } from './origin.js';
import { inputsBefore, withInputs } from './spec-inputs.js';

type Fields = StoredDocument['fields'];

const resultFields = (execution: Execution): Fields => {
  const { outputResult: result, phase } = closureOf(execution);
  if (result.case !== 'error') return { error_kind: null, error_code: null, error_message: null };
  const { kind, code, message } = result.value;
  const isSearched = PHASES_WITH_ERROR.some((each) => WorkflowExecution_Phase[each] === phase);
  return {
    error_kind: enumName(ExecutionError_ErrorKind, kind),
    error_code: code,
    error_message: isSearched ? endsOf(message) : null,
  };
};

const idFields = ({ id }: Execution): Fields => {
  const { project = '', domain = '', name = '' } = id ?? {};
  return { project, domain, name };
};

const specFields = ({ spec }: Execution): Fields => {
  const { mode = 0, principal: user = '', systemMetadata } = spec?.metadata ?? {};
  return { mode, user, cluster: systemMetadata?.executionCluster ?? '' };
};

/** Labels and tags of an execution as pairs for filters; a tag has an empty value. */
const tagFields = ({ spec }: Execution): Fields => {
  const labels = Object.entries(spec?.labels?.values ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  // oxlint-disable-next-line typescript/no-deprecated -- clients read and write the tags there
  const tags = (spec?.tags ?? []).map((tag) => [tag, ''] as const);
  return { tags: pairsText([...labels, ...tags]) };
};

const timeFields = ({ createdAt, updatedAt, startedAt, duration }: ExecutionClosure): Fields => {
  const [created, started, lasted] = [createdAt, startedAt, duration].map(microsOf);
  return {
    created_at: created ?? null,
    updated_at: microsOf(updatedAt),
    started_at: started ?? null,
    start_delay: typeof started === 'number' ? started - (created ?? 0) : null,
    duration: lasted ?? null,
    duration_class: typeof lasted === 'number' ? durationClass(lasted) : null,
  };
};

const abortFields = (abort: ExecutionDocument['abort']): Fields => ({
  abort_cause: abort?.cause ?? null,
  abort_principal: abort?.principal ?? null,
});

const fieldsOf = ({ execution, origin, abort, outputsRevision }: ExecutionDocument): Fields => {
  const closure = closureOf(execution);
  return {
    // The literal does not start with a spread because V8 would then create a slow-mode object: 60 µs instead of 3.
    phase: enumName(WorkflowExecution_Phase, closure.phase),
    state: closure.stateChangeDetails?.state ?? 0,
    outputs_at: outputsRevision,
    ...idFields(execution),
    ...specFields(execution),
    ...timeFields(closure),
    ...tagFields(execution),
    ...resultFields(execution),
    ...abortFields(abort),
    ...origin,
  };
};

const encode: ReadModel<ExecutionDocument>['encode'] = (_, document) => {
  const answered = getAnswer(document);
  const element = listElement(answered);
  const { specInputs } = document;
  return {
    fields: fieldsOf(document),
    response: withInputs(specInputs, toBinary(ExecutionSchema, answered)),
    ...((specInputs !== undefined || element !== answered) && { listElement: toBinary(ExecutionSchema, element) }),
    ...(answered !== document.execution && { foldState: toBinary(ExecutionSchema, document.execution) }),
  };
};

const decode = ({ fields, response, foldState }: StoredDocument): ExecutionDocument => {
  const { abort_cause: cause, abort_principal: principal, outputs_at: outputsAt } = fields;
  const specInputs = inputsBefore(response);
  return {
    execution: fromBinary(ExecutionSchema, foldState ?? response.subarray(specInputs?.length)),
    specInputs,
    origin: storedOrigin(fields),
    abort: typeof cause === 'string' ? { cause, principal: String(principal ?? '') } : undefined,
    outputsRevision: typeof outputsAt === 'number' ? outputsAt : null,
  };
};

/** Executions, one document each, keyed by the execution's stream. */
export const executions = readModel<ExecutionDocument, FollowedEvent>({
  collection: executionCollection,
  formerTypes: [ENGINE_REPORTED],
  handlers,
  encode,
  decode,
});
