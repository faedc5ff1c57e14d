import type { WatchRequest } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { type FollowForm, invalid, missing } from '../../kernel/rpc.js';
import type { ExecutionFilter } from '../../../projections/executions/matching.js';

/**
 * The name of what a request watches, equal for two requests that watch the same.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const subjectOf = ({ project, domain, name, filters, labels }: WatchRequest): string => {
  if (project === '') throw missing('project');
  if (domain === '') throw missing('domain');
  if (name === '') return JSON.stringify([project, domain, filters, [...labels].sort()]);
  if (filters !== '' || labels.length > 0) throw invalid('filters', 'filters do not apply to a watch of one execution');
  return JSON.stringify([project, domain, name]);
};

/** The name of the topic of a subject in one form. Its watchers share encoded answers. */
export const topicOf = (subject: string, form: FollowForm): string => `${form} ${subject}`;

/** True for a request that names no execution, but a filter. */
export const isList = ({ name }: WatchRequest): boolean => name === '';

/**
 * The filter of a request.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const filterOf = ({ project, domain, filters, labels }: WatchRequest): ExecutionFilter => ({
  project,
  domain,
  filters,
  labels: labels.map((label) => {
    const [, key, value = ''] = /^([^=]+)=(.*)$/su.exec(label) ?? [];
    if (key === undefined) throw invalid('labels', `${label} is not key=value`);
    return [key, value];
  }),
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
