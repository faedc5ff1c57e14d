import { clone, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type TaskCreateRequest, TaskCreateRequestSchema } from '../../proto/gen/platformidl/admin/task_pb.js';
import { Resources_ResourceName as ResourceName } from '../../proto/gen/platformidl/core/tasks_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureBytes } from '../support/requests/fixtures.js';
import type { Transport } from '../support/clients/transports.js';

const { method } = AdminService;

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(() => plane.close());

const transportOf = (way: string): Transport =>
  way === 'rest-octets' ? plane.octets : way === 'rest-json' ? plane.rest : plane.grpc;

const hello = fromBinary(TaskCreateRequestSchema, fixtureBytes('01-hello/001-task.create_request.pb'));

/** A task with this many values in its template. */
const taskOf = (version: string, values: number, change?: (request: TaskCreateRequest) => void): TaskCreateRequest => {
  const request = clone(TaskCreateRequestSchema, hello);
  request.id!.version = version;
  request.spec!.template!.custom = Object.fromEntries(
    Array.from({ length: values }, (_, at) => [`key-${at}`, { some: ['value', at] }]),
  );
  change?.(request);
  return request;
};

/** Values of a request above the size from which JSON bodies, too, are parsed on another thread. */
const VALUES = 12_000;

describe.each(['grpc', 'rest-octets', 'rest-json'])('a large task over %s', (way) => {
  it('is compiled beside other calls, which are answered meanwhile, and registered whole', async () => {
    const request = taskOf(`large-${way}`, VALUES);
    let isAnswered = false;
    const registering = transportOf(way)
      .attempt(method.createTask, request)
      .finally(() => (isAnswered = true));
    for (let call = 0; call < 10; call += 1) await plane.grpc.call(method.getVersion, {});
    expect(isAnswered).toBe(false);
    expect(await registering).toMatchObject({ code: 'OK' });
    const { closure } = await plane.grpc.call(method.getTask, { id: request.id! });
    expect(Object.keys(closure!.compiledTask!.template!.custom!)).toHaveLength(VALUES);
    const again = await plane.unchanged(() => transportOf(way).attempt(method.createTask, request));
    expect(again).toMatchObject({
      code: 'ALREADY_EXISTS',
      message: expect.stringMatching(
        /^task with identical structure already exists: [^:]+:[^:]+:[^:]+:[^:]+$/u,
      ) as string,
    });
  }, 120_000);

  const refused = (change: (request: TaskCreateRequest) => void) =>
    plane.unchanged(() => transportOf(way).attempt(method.createTask, taskOf('refused', VALUES, change)));

  it.each<readonly [string, (request: TaskCreateRequest) => void, string]>([
    ['without an id', (request) => delete request.id, 'missing id'],
    ['of an unknown project', (request) => (request.id!.project = 'no-such-project'), 'no-such-project'],
    ['without a type', (request) => (request.spec!.template!.type = ''), 'missing type'],
    [
      'that requests too much CPU',
      ({ spec }) => {
        const { target } = spec!.template!;
        if (target.case !== 'container') throw new Error('no container');
        target.value.resources!.requests = [
          { $typeName: 'platformidl.core.Resources.ResourceEntry', name: ResourceName.CPU, value: '100' },
        ];
      },
      'platform configuration',
    ],
  ])('%s is refused with the reason, and nothing is recorded', async (_, change, text) => {
    const { code, message } = await refused(change);
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(text)]);
  });

  it.skipIf(way === 'rest-json')(
    'is INVALID_ARGUMENT when its bytes cannot be decoded, and the answer names the byte',
    async () => {
      const bytes = toBinary(TaskCreateRequestSchema, taskOf('damaged', VALUES));
      const damaged = Uint8Array.from(bytes);
      damaged.fill(0xff, bytes.length - 100, bytes.length - 60); // not UTF-8
      for (const sent of [damaged, bytes.subarray(0, bytes.length - 10)]) {
        const { code, message } = await plane.unchanged(() => transportOf(way).send('CreateTask', sent));
        expect([code, message]).toEqual([
          'INVALID_ARGUMENT',
          expect.stringMatching(/^cannot decode .*\(at byte \d+\)/u),
        ]);
      }
    },
  );
});
