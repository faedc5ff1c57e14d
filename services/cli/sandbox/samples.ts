import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type Client, type ServiceError, status } from '@grpc/grpc-js';
import { type ControlPlane, openChannel } from '../../../engine/control-plane.js';
import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';

/** Recorded requests of a public client; the sandbox registers them, and the tests send them. */
const FIXTURES = new URL('../../../../test/fixtures/', import.meta.url);
/** The sample that is registered first. */
const FIRST = '01-hello/001-task.create_request.pb';
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

/** A request of an RPC, encoded. */
type Request = { readonly rpc: string; readonly bytes: Buffer };

const recorded = async (rpc: string, path: string): Promise<Request> => ({
  rpc,
  bytes: await readFile(new URL(path, FIXTURES)),
});

const request = <Input extends DescMessage>(
  { parent, name, input }: DescMethodUnary<Input>,
  fields: MessageInitShape<Input>,
): Request => ({ rpc: `/${parent.typeName}/${name}`, bytes: Buffer.from(toBinary(input, create(input, fields))) });

/**
 * Sends a request.
 *
 * @returns false when it is answered with `expected` in place of OK.
 * @throws {ServiceError} for any other status.
 */
const isOk = async (client: Client, { rpc, bytes }: Request, expected: status): Promise<boolean> => {
  const call = promisify((done: (error: ServiceError | null) => void) => {
    client.makeUnaryRequest(rpc, asIs, asIs, bytes, done);
  });
  try {
    await call();
    return true;
  } catch (error) {
    if ((error as ServiceError).code !== expected) throw error;
    return false;
  }
};

/** Sends one recorded request; ALREADY_EXISTS counts as success. */
const send = async (client: Client, rpc: string, path: string): Promise<void> => {
  await isOk(client, await recorded(rpc, path), status.ALREADY_EXISTS);
};

/**
 * True when an earlier run was stopped while it registered the samples: the log has the first one, but not the
 * execution, which comes last. False when that cannot be read: the sandbox starts all the same.
 */
export const areSamplesIncomplete = async (plane: ControlPlane): Promise<boolean> => {
  const { id } = fromBinary(TaskCreateRequestSchema, (await recorded('', FIRST)).bytes);
  const [project = '', domain = '', name = ''] = SAMPLE_EXECUTION.split('/');
  const client = openChannel(plane);
  const exists = (request: Request): Promise<boolean> => isOk(client, request, status.NOT_FOUND);
  try {
    const hasBegun = await exists(request(AdminService.method.getTask, id ? { id } : {}));
    return hasBegun && !(await exists(request(AdminService.method.getExecution, { id: { project, domain, name } })));
  } catch {
    return false;
  } finally {
    client.close();
  }
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
