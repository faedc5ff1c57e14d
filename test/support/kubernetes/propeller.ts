import { writeFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { freePort, type Running, start } from '../processes/command.js';
import { ADMIN_TOKEN, kubeConfigOf, type KubernetesServer } from './server.js';

/** The binary of Flyte's engine, propeller; without it, the tests that need one are skipped. */
export const propeller = process.env['FLIGHTLOG_TEST_PROPELLER'];

/** The store in which the engine and its tasks leave inputs and outputs. */
export interface EngineStore {
  read(address: string): Promise<Uint8Array>;
  write(address: string, bytes: Uint8Array): Promise<void>;
}

/** The file of an address: the engine's store is the root of the file system, and a bucket is a directory in it. */
const fileOf = (address: string): string => address.replace(/^file:\/\/\/?/u, '/');

/** The store of {@link startPropeller}. */
export const fileStore: EngineStore = {
  read: (address) => readFile(fileOf(address)),
  write: async (address, bytes) => {
    await mkdir(dirname(fileOf(address)), { recursive: true });
    await writeFile(fileOf(address), bytes);
  },
};

/** The address under which the engine of {@link startPropeller} finds a file. */
const addressOf = (file: string): string => `file:/${file}`;

export type PropellerOptions = {
  readonly server: KubernetesServer;
  /** The gRPC address of the control plane. */
  readonly endpoint: string;
  /** The directory of its settings and of what it stores. */
  readonly directory: string;
  /** The shards whose objects it takes, as the bridge labels them; all by default. */
  readonly shards?: readonly string[];
  /** Sections of its settings that replace those of the test. */
  readonly changes?: Readonly<Record<string, unknown>>;
};

const settingsOf = ({ directory, endpoint, shards = [], changes }: PropellerOptions, profilerPort: number) => {
  const [, bucket = '', ...path] = directory.split('/');
  return {
    admin: { endpoint: `dns:///${endpoint}`, insecure: true },
    event: { type: 'admin' },
    'catalog-cache': { type: 'noop' },
    storage: {
      type: 'stow',
      container: bucket,
      'enable-multicontainer': true,
      stow: { kind: 'local', config: { path: '/' } },
    },
    propeller: {
      'kube-config': join(directory, 'propeller.kubeconfig'),
      'metadata-prefix': [...path, 'metadata'].join('/'),
      'rawoutput-prefix': addressOf(join(directory, 'raw')),
      'workflow-reeval-duration': '1s',
      'downstream-eval-duration': '1s',
      'prof-port': profilerPort,
      'include-shard-key-label': shards,
      'admin-launcher': { 'cache-resync-duration': '1s' },
      queue: { 'batching-interval': '100ms' },
      'event-config': { 'raw-output-policy': 'inline' },
    },
    tasks: { 'task-plugins': { 'enabled-plugins': ['container', 'sidecar'] } },
    logger: { level: 4, formatter: { type: 'json' } },
    ...changes,
  };
};

/** Starts propeller as administrator of the cluster, with shorter intervals than its own. */
export const startPropeller = async (options: PropellerOptions): Promise<Running> => {
  const { server, directory } = options;
  const file = join(directory, 'propeller.json');
  writeFileSync(join(directory, 'propeller.kubeconfig'), kubeConfigOf(server.url, ADMIN_TOKEN).exportConfig());
  writeFileSync(file, JSON.stringify(settingsOf(options, await freePort())));
  return start(propeller ?? '', ['--config', file]);
};
