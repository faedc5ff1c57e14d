import { fnv32 } from '../../walk/ids.js';
import { type EngineLaunch } from '../launch.js';

/** The finalizer of the engine: it delays the deletion of an object until the engine has stopped its nodes. */
export const FINALIZER = 'flyte.org/finalizer';
/** The annotation with the id of the launch of an object. */
export const LAUNCH_ID = 'flightlog.io/launch-id';
/** The label with the name of the bridge that made an object. */
export const MADE_BY = 'flightlog.io/bridge';

/** The metadata that a bridge writes to an object. */
export type ObjectMetadata = {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly finalizers: readonly string[];
};

export type MetadataOptions = {
  /** The template of namespaces, with `{{ project }}` and `{{ domain }}`. */
  readonly namespaceTemplate: string;
  /** The name of the bridge. */
  readonly madeBy: string;
  /** The annotation that names the IAM role. */
  readonly roleKey: string;
};

/** The number of shards, a label by which engines divide objects among each other. */
const SHARDS = 32;
const MAX_LABEL_LENGTH = 63;

const labelText = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^-a-z0-9]+/gu, '-')
    .slice(0, MAX_LABEL_LENGTH)
    .replaceAll(/^-+|-+$/gu, '');

/** The namespace of an execution. */
export const objectNamespace = (template: string, { project, domain }: { project: string; domain: string }): string =>
  template.replaceAll(/\{\{\s*project\s*\}\}/gu, project).replaceAll(/\{\{\s*domain\s*\}\}/gu, domain);

const generatedLabels = ({ id, closure }: EngineLaunch): Readonly<Record<string, string>> => ({
  'execution-id': id.name,
  project: id.project,
  domain: id.domain,
  'workflow-name': labelText(closure.primary?.template?.id?.name ?? ''),
  'shard-key': String(fnv32(id.name) % SHARDS),
});

/**
 * Makes the metadata of the object of a launch. Generated labels win over those of the execution, because engines pass
 * their own generated labels on to the executions that they launch.
 */
export const objectMetadata = (launch: EngineLaunch, options: MetadataOptions): ObjectMetadata => {
  const { id, config, launchId } = launch;
  const role = config.securityContext?.runAs?.iamRole ?? '';
  return {
    name: id.name,
    namespace: objectNamespace(options.namespaceTemplate, id),
    labels: { ...config.labels?.values, ...generatedLabels(launch), [MADE_BY]: options.madeBy },
    annotations: {
      ...config.annotations?.values,
      ...(role !== '' && { [options.roleKey]: role }),
      [LAUNCH_ID]: launchId,
    },
    finalizers: [FINALIZER],
  };
};
