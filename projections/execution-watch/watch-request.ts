import type { WatchRequest } from '../../proto/gen/platformidl/eventlog/watch_pb.js';
import { type FollowForm, invalid, missing } from '../../services/kernel/rpc.js';
import type { ExecutionFilter } from '../query/execution-reads.js';

/**
 * The name of what a request watches: requests with an equal one watch the same.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const subjectOf = ({ project, domain, name, filters, labels }: WatchRequest): string => {
  if (project === '') throw missing('project');
  if (domain === '') throw missing('domain');
  if (name === '') return JSON.stringify([project, domain, filters, [...labels].sort()]);
  if (filters !== '') throw invalid('filters', 'filters do not apply to a watch of one execution');
  if (labels.length > 0) throw invalid('labels', 'labels do not apply to a watch of one execution');
  return JSON.stringify([project, domain, name]);
};

/** The name of the topic whose watchers watch the same subject in the same form; they share encoded answers. */
export const topicOf = (subject: string, form: FollowForm): string => `${form} ${subject}`;

/** True for a request that watches a list: it names no execution. */
export const isList = ({ name }: WatchRequest): boolean => name === '';

const labelOf = (label: string): readonly [key: string, value: string] => {
  const [, key, value = ''] = /^([^=]+)=(.*)$/su.exec(label) ?? [];
  if (key === undefined) throw invalid('labels', `${label} is not key=value`);
  return [key, value];
};

/**
 * The filter of a request for a list.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const filterOf = ({ project, domain, filters, labels }: WatchRequest): ExecutionFilter => ({
  project,
  domain,
  filters,
  labels: labels.map(labelOf),
});

const POSITION = /^\d{1,19}$/u;

/**
 * Reads the position after which a request resumes; `undefined` when it starts with the state.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const afterOf = ({ lastEventId }: WatchRequest): bigint | undefined => {
  if (lastEventId === '') return undefined;
  if (!POSITION.test(lastEventId)) throw invalid('last_event_id', 'not a position');
  return BigInt(lastEventId);
};
