import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Client, type ServiceError, status } from '@grpc/grpc-js';
import { type ControlPlane, openChannel } from '../../../engine/control-plane.js';

/** Recorded requests of a public client; the sandbox registers them, and the tests send them. */
const FIXTURES = new URL('../../../../test/fixtures/', import.meta.url);
const LAUNCHED = '14-pipeline/execute-01.create_request.pb';

/** The graphs that the dynamic tasks among the samples make at run time. */
export const SAMPLE_GRAPHS = fileURLToPath(new URL('06-dynamic/dynamic/', FIXTURES));

/** The id of the execution that is launched, as a path. */
export const SAMPLE_EXECUTION = 'flytesnacks/development/churn-v1';

type Entry = { readonly kind: string; readonly rpc: string; readonly file: string };
type Manifest = { readonly entries: readonly Entry[] };
type Index = readonly { readonly fixture: string }[];

const REGISTERED = new Set(['task', 'workflow', 'launch_plan', 'launch_plan_update']);

const asIs = (bytes: Buffer): Buffer => bytes;

const json = async <Shape>(path: string): Promise<Shape> =>
  JSON.parse(await readFile(new URL(path, FIXTURES), 'utf8')) as Shape;

/** Sends one recorded request; ALREADY_EXISTS counts as success. */
const send = async (client: Client, rpc: string, path: string): Promise<void> => {
  const bytes = await readFile(new URL(path, FIXTURES));
  const call = promisify((done: (error: ServiceError | null) => void) => {
    client.makeUnaryRequest(rpc, asIs, asIs, bytes, done);
  });
  await call().catch((error: unknown) => {
    if ((error as ServiceError).code !== status.ALREADY_EXISTS) throw error;
  });
};

/**
 * Registers the sample tasks, workflows and launch plans, and launches one execution.
 *
 * @returns the number of definitions sent.
 */
export const registerSamples = async (plane: ControlPlane): Promise<number> => {
  const client = openChannel(plane);
  let registered = 0;
  try {
    for (const { fixture } of await json<Index>('index.json')) {
      const { entries } = await json<Manifest>(`${fixture}/manifest.json`);
      for (const { kind, rpc, file } of entries.filter((entry) => REGISTERED.has(entry.kind))) {
        await send(client, rpc, `${fixture}/${file}`);
        registered += kind === 'launch_plan_update' ? 0 : 1;
      }
    }
    await send(client, '/platformidl.service.AdminService/CreateExecution', LAUNCHED);
  } finally {
    client.close();
  }
  return registered;
};
