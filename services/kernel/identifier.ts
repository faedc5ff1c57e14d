import { missing, RpcError } from './rpc.js';
import { assertVisible, isVisible } from './values/visible-text.js';

/** Numbers in `core.ResourceType` of the kinds that are registered in versions. */
const RESOURCE_TYPES = { TASK: 1, WORKFLOW: 2, LAUNCH_PLAN: 3 } as const;
const NAMES = new Map<number, string>([
  [0, 'unspecified'],
  ...Object.entries(RESOURCE_TYPES).map(([name, value]) => [value, name.toLowerCase()] as const),
  [4, 'dataset'],
]);

/** Kind of an entity that is registered in versions. */
export type Kind = keyof typeof RESOURCE_TYPES;

/** The kinds by their number in `core.ResourceType`. */
export const KINDS: ReadonlyMap<number, Kind> = new Map(
  (Object.keys(RESOURCE_TYPES) as Kind[]).map((kind) => [RESOURCE_TYPES[kind], kind]),
);

/** One version of a registered entity. The shape of `core.Identifier`, without the fields that are never stored. */
export type Version = {
  readonly resourceType: (typeof RESOURCE_TYPES)[Kind];
  readonly project: string;
  readonly domain: string;
  readonly name: string;
  readonly version: string;
};

/** The name of a launch plan, without a version. */
export type LaunchPlanName = Pick<Version, 'project' | 'domain' | 'name'>;

/** An identifier as the client sent it. */
export type SentIdentifier = Omit<Version, 'resourceType'> & { readonly resourceType: number };

const PARTS = ['project', 'domain', 'name', 'version'] as const;

const text = ({ project, domain, name, version }: Omit<SentIdentifier, 'resourceType'>): string =>
  `project:${JSON.stringify(project)} domain:${JSON.stringify(domain)} ` +
  `name:${JSON.stringify(name)} version:${JSON.stringify(version)}`;

/**
 * Checks that an identifier has all its parts.
 *
 * @param path path of the identifier in its request; `undefined` for the request's own `id`.
 * @throws {RpcError} INVALID_ARGUMENT naming the first missing part.
 */
export const assertComplete = <Sent extends SentIdentifier>(id: Sent | undefined, path?: string): Sent => {
  const suffix = path === undefined ? '' : ` of ${path}`;
  if (id === undefined) throw missing(`id${suffix}`);
  const empty = PARTS.find((part) => id[part] === '');
  if (empty !== undefined) throw missing(`${empty}${suffix}`);
  return id;
};

/**
 * The version that an identifier names.
 *
 * @param path path of the identifier in its request; `undefined` for the request's own `id`.
 * @throws {RpcError} INVALID_ARGUMENT naming the first missing part, or the resource type when it is not the one of
 * `kind`.
 */
export const versionOf = (kind: Kind, id: SentIdentifier | undefined, path?: string): Version => {
  if (id === undefined) throw missing(path === undefined ? 'id' : `id of ${path}`);
  const resourceType = RESOURCE_TYPES[kind];
  if (id.resourceType !== resourceType) {
    const got = NAMES.get(id.resourceType) ?? String(id.resourceType);
    throw new RpcError(
      'INVALID_ARGUMENT',
      `unexpected resource type ${got} for identifier [${text(id)}], expected ${kind.toLowerCase()} instead`,
    );
  }
  const { project, domain, name, version } = assertComplete(id, path);
  return { resourceType, project, domain, name, version };
};

/**
 * The version that a registration names. Earlier releases have registered versions with names that are refused for new
 * ones; these can be read and launched, and a registration of one is answered as that of any other existing version.
 *
 * @param isRegistered tells whether a version exists; called only for such a name.
 * @throws {RpcError} INVALID_ARGUMENT as {@link versionOf}, and for a version that does not exist, naming the
 * part that {@link assertVisible} refuses.
 */
export const newVersionOf = async (
  kind: Kind,
  sent: SentIdentifier | undefined,
  isRegistered: (id: Version) => Promise<boolean>,
): Promise<Version> => {
  const id = versionOf(kind, sent);
  const part = PARTS.find((each) => !isVisible(id[each]));
  if (part !== undefined && !(await isRegistered(id))) assertVisible(`id.${part}`, id[part]);
  return id;
};

/** A version in messages: `project:domain:name:version`. */
export const versionText = ({ project, domain, name, version }: Omit<Version, 'resourceType'>): string =>
  `${project}:${domain}:${name}:${version}`;

/** The identifier with its resource type filled in, for requests that may omit it. */
export const withResourceType = (kind: Kind, id: SentIdentifier | undefined): SentIdentifier | undefined =>
  id?.resourceType === 0 ? { ...id, resourceType: RESOURCE_TYPES[kind] } : id;

/** NOT_FOUND: the version does not exist. */
export const versionNotFound = (kind: Kind, id: Omit<SentIdentifier, 'resourceType'>): RpcError =>
  new RpcError('NOT_FOUND', `missing entity of type ${kind} with identifier resource_type:${kind} ${text(id)}`);
