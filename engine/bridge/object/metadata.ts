import { type Launch } from '../launch.js';

/** The engine holds an object back from its deletion with this until it has stopped what runs for it. */
export const FINALIZER = 'flyte.org/finalizer';
/** Annotation: the launch that an object was made for. */
export const LAUNCH_ID = 'flightlog.io/launch-id';
/** Label: the bridge that made an object. */
export const MADE_BY = 'flightlog.io/bridge';

/** The metadata of an object in Kubernetes, as far as a bridge writes it. */
export type ObjectMetadata = {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly finalizers: readonly string[];
};

export type MetadataOptions = {
  /** With `{{ project }}` and `{{ domain }}`. */
  readonly namespaceTemplate: string;
  /** The name of the bridge. */
  readonly madeBy: string;
  /** The annotation that names the IAM role. */
  readonly roleKey: string;
};

/** Engines share out objects by this number of shards, by label. */
const SHARDS = 32;
const MAX_LABEL_LENGTH = 63;

/** FNV-1a of 32 bits. */
export const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
};

const labelText = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^-a-z0-9]+/gu, '-')
    .slice(0, MAX_LABEL_LENGTH)
    .replaceAll(/^-+|-+$/gu, '');

/** The namespace of an execution. */
export const namespaceOf = (template: string, { project, domain }: { project: string; domain: string }): string =>
  template.replaceAll(/\{\{\s*project\s*\}\}/gu, project).replaceAll(/\{\{\s*domain\s*\}\}/gu, domain);

const generatedLabels = ({ id, closure }: Launch): Readonly<Record<string, string>> => ({
  'execution-id': id.name,
  project: id.project,
  domain: id.domain,
  'workflow-name': labelText(closure.primary?.template?.id?.name ?? ''),
  'shard-key': String(hashOf(id.name) % SHARDS),
});

/**
 * Name, labels, annotations and finalizer of a launch's object. The generated labels win over those of the execution:
 * engines hand their own generated labels on to the executions that they launch.
 */
export const metadataOf = (launch: Launch, options: MetadataOptions): ObjectMetadata => {
  const { id, config, launchId } = launch;
  const role = config.securityContext?.runAs?.iamRole ?? '';
  return {
    name: id.name,
    namespace: namespaceOf(options.namespaceTemplate, id),
    labels: { ...config.labels?.values, ...generatedLabels(launch), [MADE_BY]: options.madeBy },
    annotations: {
      ...config.annotations?.values,
      ...(role !== '' && { [options.roleKey]: role }),
      [LAUNCH_ID]: launchId,
    },
    finalizers: [FINALIZER],
  };
};
