import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';

/** Recorded requests of a public client; the sandbox registers them, and the tests send them. */
const FIXTURES = new URL('../../../test/fixtures/', import.meta.url);
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

type Sending = { readonly client: Client; readonly metadata: Metadata };

const metadataOf = (token: string | undefined): Metadata => {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return metadata;
};

/** Sends one recorded request; ALREADY_EXISTS counts as success. */
const send = async ({ client, metadata }: Sending, rpc: string, path: string): Promise<void> => {
  const bytes = await readFile(new URL(path, FIXTURES));
  const call = promisify((done: (error: ServiceError | null) => void) => {
    client.makeUnaryRequest(rpc, asIs, asIs, bytes, metadata, done);
  });
  await call().catch((error: unknown) => {
    if ((error as ServiceError).code !== status.ALREADY_EXISTS) throw error;
  });
};

/**
 * Registers the sample tasks, workflows and launch plans, and launches one execution.
 *
 * @param token needed where the control plane has authentication.
 * @returns the number of definitions sent.
 */
export const registerSamples = async (address: string, token?: string): Promise<number> => {
  const client = new Client(address, credentials.createInsecure());
  const sending = { client, metadata: metadataOf(token) };
  let registered = 0;
  try {
    for (const { fixture } of await json<Index>('index.json')) {
      const { entries } = await json<Manifest>(`${fixture}/manifest.json`);
      for (const { kind, rpc, file } of entries.filter((entry) => REGISTERED.has(entry.kind))) {
        await send(sending, rpc, `${fixture}/${file}`);
        registered += kind === 'launch_plan_update' ? 0 : 1;
      }
    }
    await send(sending, '/platformidl.service.AdminService/CreateExecution', LAUNCHED);
  } finally {
    client.close();
  }
  return registered;
};
