import { KubeConfig } from '@kubernetes/client-node';
import { type Cluster } from './cluster.js';
import { limitCredentialCommands } from './credential-command.js';
import { kubernetesCluster, type KubernetesOptions } from './kubernetes.js';

export type ClusterConnection = {
  /** A kubeconfig file; empty is the file that kubectl would use, or without one the service account of the pod. */
  readonly kubeconfig: string;
  /** A context in that file; empty is its current one. */
  readonly context: string;
};

/** The server ends a watch after this time; then another one is opened. */
const WATCH_SECONDS = 290;

/** The server that the Kubernetes client takes where it finds no kubeconfig; without TLS it then refuses to call it. */
const SERVER_WITHOUT_FILE = 'http://localhost:8080';

/**
 * Makes the client of a cluster, which it chooses as kubectl would.
 *
 * @throws {Error} when there is neither kubeconfig nor service account, the file cannot be read, or it has no such
 *   context.
 */
export const connectedCluster = (
  { kubeconfig, context }: ClusterConnection,
  options: Omit<KubernetesOptions, 'kubeConfig' | 'watch'>,
): Cluster => {
  const kubeConfig = new KubeConfig();
  if (kubeconfig === '') kubeConfig.loadFromDefault();
  else kubeConfig.loadFromFile(kubeconfig);
  if (context !== '') kubeConfig.setCurrentContext(context);
  const found = kubeConfig.getCurrentCluster();
  if (kubeconfig === '' && found?.server === SERVER_WITHOUT_FILE && !found.skipTLSVerify)
    throw new Error('there is no kubeconfig: name one here, in KUBECONFIG, or in ~/.kube/config');
  if (found === null) throw new Error(`there is no cluster for context ${JSON.stringify(context)}`);
  limitCredentialCommands(kubeConfig, options.callTimeoutMs);
  const watch = { watchSeconds: WATCH_SECONDS, answerTimeoutMs: options.callTimeoutMs };
  return kubernetesCluster({ ...options, kubeConfig, watch });
};
