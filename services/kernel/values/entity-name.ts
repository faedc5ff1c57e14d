import { type Kind, KINDS } from '../identifier.js';
import { invalid, missing, RpcError } from '../rpc.js';

/** Name of a task, workflow or launch plan in a project and domain, common to all its versions. */
export type EntityName = {
  readonly kind: Kind;
  readonly project: string;
  readonly domain: string;
  readonly name: string;
};

/** Prefix of the names of generated workflows and launch plans: single-task executions run as these. */
const GENERATED = '.flytegen';

/** True for names that lists omit unless the request asks for them. */
export const isHidden = ({ name }: SentName): boolean => name.startsWith(GENERATED);

/** True for entities that the control plane has generated for its own use. */
export const isGenerated = (entity: EntityName): boolean => entity.kind !== 'TASK' && isHidden(entity);

/** A name as the client sent it. The shape of `admin.NamedEntityIdentifier`. */
export type SentName = Omit<EntityName, 'kind'>;

const UNSPECIFIED = 0;
const DATASET = 4;
const PARTS = ['project', 'domain', 'name'] as const;

/**
 * Maps a resource type to its kind.
 *
 * @param cannot start of the error message for a resource type that has no versions: what cannot be done with it.
 * @throws {RpcError} INVALID_ARGUMENT when the resource type is unspecified, unknown, or has no versions.
 */
export const kindOf = (resourceType: number, cannot: string): Kind => {
  const kind = KINDS.get(resourceType);
  if (kind !== undefined) return kind;
  if (resourceType !== DATASET) {
    const given = resourceType === UNSPECIFIED ? 'UNSPECIFIED' : String(resourceType);
    throw invalid('resource_type', `${given} is not one of ${[...KINDS.values()].join(', ')}`);
  }
  throw new RpcError('INVALID_ARGUMENT', `${cannot} DATASET`);
};

/**
 * Checks that a name has all its parts, and returns it.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the first missing part.
 */
export const nameOf = (id: SentName | undefined): SentName => {
  if (id === undefined) throw missing('id');
  const empty = PARTS.find((part) => id[part] === '');
  if (empty !== undefined) throw missing(empty);
  return { project: id.project, domain: id.domain, name: id.name };
};

/** NOT_FOUND: the name does not exist, or nothing is recorded about it. */
export const entryNotFound = ({ kind, project, domain, name }: EntityName, version?: string): RpcError => {
  const suffix = version === undefined ? '' : `:${version}`;
  return new RpcError('NOT_FOUND', `entry not found: ${kind} ${project}:${domain}:${name}${suffix}`);
};
