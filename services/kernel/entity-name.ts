import { type Kind, KINDS } from './identifier.js';
import { invalid, missing, RpcError } from './rpc.js';

/** A name in a project and domain, whatever its versions, and what they are versions of. */
export type EntityName = {
  readonly kind: Kind;
  readonly project: string;
  readonly domain: string;
  readonly name: string;
};

/** What begins the names of the workflows and launch plans that single-task executions run as. */
const GENERATED = '.flytegen';

/** Whether a name is one that lists leave out, unless they are asked for it. */
export const isHidden = ({ name }: SentName): boolean => name.startsWith(GENERATED);

/** Whether the control plane has made what has a name for its own use. */
export const isGenerated = (entity: EntityName): boolean => entity.kind !== 'TASK' && isHidden(entity);

/** A name as it was sent. The shape of `admin.NamedEntityIdentifier`. */
export type SentName = Omit<EntityName, 'kind'>;

const UNSPECIFIED = 0;
const DATASET = 4;
const PARTS = ['project', 'domain', 'name'] as const;

/**
 * The kind that a resource type names.
 *
 * @param cannot what cannot be done with a resource type that has no versions, for the text of the error.
 * @throws {RpcError} INVALID_ARGUMENT when the resource type is unspecified, unknown, or has no versions.
 */
export const kindOf = (resourceType: number, cannot: string): Kind => {
  const kind = KINDS.get(resourceType);
  if (kind !== undefined) return kind;
  if (resourceType === UNSPECIFIED || resourceType > DATASET || resourceType < 0) throw invalid('resource_type');
  throw new RpcError('INVALID_ARGUMENT', `${cannot} DATASET`);
};

/**
 * A name, when all its parts are there.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming what is missing.
 */
export const nameOf = (id: SentName | undefined): SentName => {
  if (id === undefined) throw missing('id');
  const empty = PARTS.find((part) => id[part] === '');
  if (empty !== undefined) throw missing(empty);
  return { project: id.project, domain: id.domain, name: id.name };
};

/** There is no such name, or nothing was said of it. */
export const absentEntry = (): RpcError => new RpcError('NOT_FOUND', 'entry not found');
