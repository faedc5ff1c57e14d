import { KubeConfig, type User } from '@kubernetes/client-node';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { CHECKOUT } from '../processes/command.js';
import type { Stored } from './object-table.js';

/** The bearer token of an administrator of the cluster. */
export const ADMIN_TOKEN = 'admin-of-the-test';
/** The bearer token of the bridge. */
export const BRIDGE_TOKEN = 'bridge-of-the-test';
/** The user of the service account in `deployment/kubernetes`. */
export const BRIDGE_USER = 'system:serviceaccount:flightlog:flightlog-bridge';

/** A Kubernetes API server for tests: a real one, or the stand-in. */
export interface KubernetesServer {
  readonly url: string;
  /** Ends the server and breaks its connections; its objects stay. */
  kill(): Promise<void>;
  /** Starts the server again at the same URL. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Makes the configuration of a client, with a token or other credentials; certificates are not checked. */
export const kubeConfigOf = (url: string, credentials: string | Omit<User, 'name'>): KubeConfig => {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromOptions({
    clusters: [{ name: 'test', server: url, skipTLSVerify: true }],
    users: [{ name: 'test', ...(typeof credentials === 'string' ? { token: credentials } : credentials) }],
    contexts: [{ name: 'test', cluster: 'test', user: 'test' }],
    currentContext: 'test',
  });
  return kubeConfig;
};

/** The body of an answer; of one that is no JSON, as for a path that is not served yet, an object with its text. */
const bodyOf = ({ headers }: IncomingMessage, text: string): unknown =>
  headers['content-type']?.startsWith('application/json') === true ? JSON.parse(text || '{}') : { message: text };

/** Sends one request, as the administrator by default; returns status and body. */
export const ask = (
  { url, token = ADMIN_TOKEN }: { readonly url: string; readonly token?: string },
  method: string,
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly body: Stored & { readonly items: readonly Stored[] } }> =>
  new Promise((resolve, reject) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
    const call = send(`${url}${path}`, { method, headers, rejectUnauthorized: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: bodyOf(response, text) as never }));
      response.on('error', reject);
    });
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });

/** The names of the kinds of objects in paths of the API. */
const COLLECTIONS: Readonly<Record<string, string>> = {
  CustomResourceDefinition: 'customresourcedefinitions',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  ServiceAccount: 'serviceaccounts',
  ConfigMap: 'configmaps',
  Namespace: 'namespaces',
  Deployment: 'deployments',
};

/** The path of the API to which an object of this kind is posted. */
const collectionPath = ({ apiVersion, kind, metadata }: Stored): string => {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  return `${group}${scope}/${COLLECTIONS[kind] ?? kind}`;
};

/** The objects in a file of `deployment/kubernetes`. */
export const manifests = (file: string): readonly Stored[] =>
  parseAllDocuments(readFileSync(join(CHECKOUT, 'deployment/kubernetes', file), 'utf8')).map(
    (each) => each.toJS() as Stored,
  );

/**
 * Creates the objects as `kubectl apply` would on a new cluster; an object that exists stays as it is.
 *
 * @throws {Error} when the server refuses one.
 */
export const apply = async (server: KubernetesServer, objects: readonly Stored[]): Promise<void> => {
  for (const object of objects) {
    const { status, body } = await ask(server, 'POST', collectionPath(object), object);
    if (status >= 300 && status !== 409)
      throw new Error(`${object.kind} ${object.metadata.name}: ${JSON.stringify(body)}`);
  }
};

export const namespace = (name: string): Stored => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

const OBJECTS = '/apis/flyte.lyft.com/v1alpha1/namespaces';

/** The path of a `FlyteWorkflow`, the object of the engine; without a name, of all in a namespace. */
export const objectPath = (namespaceName: string, name = ''): string =>
  `${OBJECTS}/${namespaceName}/flyteworkflows${name && `/${name}`}`;
