import type { WorkJoin, WorkLabels } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import type { Access } from '../../kernel/access.js';
import { accessOf, denied } from '../../kernel/permitted.js';
import { type Call, invalid, missing } from '../../kernel/rpc.js';
import { assertVisible } from '../../kernel/values/visible-text.js';
import type { EngineRequirements } from './work-order.js';

const MAX_NAME = 200;
const MAX_PLACES = 10_000;
const DEFAULT_INLINE_BYTES = 1024 * 1024;

/** The identity, scopes and capacity with which an engine joins. */
export type JoinParameters = {
  readonly group: string;
  readonly engine: string;
  readonly producerId: string;
  readonly places: number;
  readonly maxInlineBytes: number;
  readonly takes: (lane: EngineRequirements) => boolean;
};

/** Limits the number of free places that an engine states. */
export const placesOf = (stated: number): number => Math.min(stated, MAX_PLACES);

const named = (field: string, name: string): string => {
  if (name === '') throw missing(field);
  if (name.length > MAX_NAME) throw invalid(field, `longer than ${MAX_NAME} characters`);
  assertVisible(field, name);
  return name;
};

const isIn = (list: readonly string[], value: string): boolean =>
  list.length === 0 || value === '' || list.includes(value);

const takesOf =
  ({ clusterLabels = [], clusterPools = [], scopes = [] }: Partial<WorkLabels>, access: Access) =>
  ({ project, domain, clusterLabel, clusterPool }: EngineRequirements): boolean =>
    isIn(clusterLabels, clusterLabel) &&
    isIn(clusterPools, clusterPool) &&
    (scopes.length === 0 ||
      scopes.some((scope) => ['', project].includes(scope.project) && ['', domain].includes(scope.domain))) &&
    access.may('events', project, domain);

/** Checks that the engine may report in each scope that it names, and in at least one project. */
const assertMayWork = (access: Access, scopes: readonly { project: string; domain: string }[]): void => {
  for (const scope of scopes) if (!access.may('events', scope.project, scope.domain)) throw denied('events', scope);
  const projects = access.projectsWith('events');
  if (projects?.length === 0) throw denied('events', { project: '', domain: '' });
};

/**
 * Reads the first message of an engine.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field; PERMISSION_DENIED when the engine may not report in a scope
 *   that it names, or in no project.
 */
export const joiningOf = (join: WorkJoin, call: Pick<Call, 'caller'>): JoinParameters => {
  const group = named('join.group', join.group);
  const engine = named('join.engine', join.engine);
  const access = accessOf(call);
  assertMayWork(access, join.labels?.scopes ?? []);
  return {
    group,
    engine,
    producerId: join.producerId === '' ? engine : named('join.producer_id', join.producerId),
    places: placesOf(join.freePlaces),
    maxInlineBytes: join.maxInlineBytes === 0 ? DEFAULT_INLINE_BYTES : join.maxInlineBytes,
    takes: takesOf(join.labels ?? {}, access),
  };
};
