import {
  createConfiguration,
  CustomObjectsApi,
  IsomorphicFetchHttpLibrary,
  type KubeConfig,
  PatchStrategy,
  type RequestContext,
  ServerConfiguration,
  setHeaderOptions,
  V1DeleteOptions,
} from '@kubernetes/client-node';
import { FINALIZER, MADE_BY } from '../object/metadata.js';
import { GROUP, PLURAL, VERSION, type WorkflowObject } from '../object/workflow-object.js';
import { clusterFault, httpStatusOf } from './answers.js';
import { type Cluster, type ObjectKey, type ClusterObject } from './cluster.js';
import { followObjects, type WatchTimes } from './follow.js';
import { type AnsweredMetadata, METADATA_ONLY, objectOfMetadata } from './metadata-answer.js';

export type KubernetesOptions = {
  readonly name: string;
  /** The name of the bridge that made the objects. */
  readonly madeBy: string;
  readonly kubeConfig: KubeConfig;
  /** The timeout of each call. */
  readonly callTimeoutMs: number;
  readonly watch: WatchTimes;
  /** Called for each list and each watch of objects that fails; the bridge retries it. */
  readonly onFailure: (error: Error) => void;
};

const RESOURCE = { group: GROUP, version: VERSION, plural: PLURAL };
const BRIEF = setHeaderOptions('Accept', METADATA_ONLY);
const MERGE = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

/** Adds a timeout to each call; the generated client has none. */
class TimedHttp extends IsomorphicFetchHttpLibrary {
  readonly #timeoutMs: number;

  constructor(timeoutMs: number) {
    super();
    this.#timeoutMs = timeoutMs;
  }

  override send(request: RequestContext): ReturnType<IsomorphicFetchHttpLibrary['send']> {
    request.setSignal(AbortSignal.timeout(this.#timeoutMs));
    return super.send(request);
  }
}

const apiOf = (kubeConfig: KubeConfig, timeoutMs: number): CustomObjectsApi => {
  const server = kubeConfig.getCurrentCluster()?.server ?? '';
  const baseServer = new ServerConfiguration(server, {});
  const authMethods = { default: kubeConfig };
  return new CustomObjectsApi(createConfiguration({ baseServer, authMethods, httpApi: new TimedHttp(timeoutMs) }));
};

/** Runs a call; the given statuses are answers, not faults. */
const answered = async <Answer>(call: Promise<Answer>, expected: readonly number[]): Promise<Answer | number> => {
  try {
    return await call;
  } catch (error) {
    const status = httpStatusOf(error);
    if (status !== undefined && expected.includes(status)) return status;
    throw clusterFault(error);
  }
};

const NOT_FOUND = 404;
const CONFLICT = 409;

/** Objects in a cluster behind a Kubernetes API server. */
export const kubernetesCluster = (options: KubernetesOptions): Cluster => {
  const { name, madeBy, kubeConfig, callTimeoutMs, onFailure } = options;
  const api = apiOf(kubeConfig, callTimeoutMs);

  const find = async ({ namespace, name: objectName }: ObjectKey): Promise<ClusterObject | undefined> => {
    const call = api.getNamespacedCustomObject({ ...RESOURCE, namespace, name: objectName }, BRIEF);
    const found = (await answered(call, [NOT_FOUND])) as number | { readonly metadata: AnsweredMetadata };
    return typeof found === 'number' ? undefined : objectOfMetadata(found.metadata);
  };

  const create = async (body: WorkflowObject): Promise<'created' | 'exists'> => {
    const { namespace } = body.metadata;
    const call = api.createNamespacedCustomObject({ ...RESOURCE, namespace, body });
    return (await answered(call, [CONFLICT])) === CONFLICT ? 'exists' : 'created';
  };

  const remove = async ({ namespace, name: objectName, uid }: ClusterObject): Promise<void> => {
    const body = Object.assign(new V1DeleteOptions(), { propagationPolicy: 'Background', preconditions: { uid } });
    const call = api.deleteNamespacedCustomObject({ ...RESOURCE, namespace, name: objectName, body });
    await answered(call, [NOT_FOUND, CONFLICT]);
  };

  const removeFinalizer = async (object: ClusterObject): Promise<void> => {
    const { namespace, name: objectName, resourceVersion, uid } = object;
    const finalizers = object.finalizers.filter((each) => each !== FINALIZER);
    const body = { metadata: { uid, resourceVersion, finalizers } };
    const call = api.patchNamespacedCustomObject({ ...RESOURCE, namespace, name: objectName, body }, MERGE);
    await answered(call, [NOT_FOUND, CONFLICT]);
  };

  return {
    name,
    find,
    create,
    delete: remove,
    removeFinalizer,
    follow: (onObject, signal) =>
      followObjects({
        api,
        kubeConfig,
        times: options.watch,
        selector: `${MADE_BY}=${madeBy}`,
        onObject,
        onFailure,
        signal,
      }),
  };
};
