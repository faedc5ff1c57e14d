import { create } from '@bufbuild/protobuf';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { CallError } from '../../../engine/call-error.js';
import { launchChild } from '../../../engine/child-executions.js';
import type { InterfaceClient } from '../../../engine/client.js';

const launchRefusedWith = (code: status): Promise<string | undefined> => {
  const error = new CallError({ code, details: 'no', metadata: new Metadata() } as ServiceError, 0);
  const client: InterfaceClient = {
    close: () => undefined,
    call: () => Promise.reject(error),
    send: () => Promise.reject(error),
  };
  const child = { project: 'p', domain: 'd', name: 'child' };
  return launchChild(client, create(ExecutionSchema), { kind: 'launch', child, inputs: {} } as never);
};

it.each([status.INTERNAL, status.UNAUTHENTICATED])(
  'a launch of a child that fails with status %s is retried with its walk',
  async (code) => {
    await expect(launchRefusedWith(code)).rejects.toThrow('no');
  },
);

it('a launch of a child that is refused names the reason', async () => {
  expect(await launchRefusedWith(status.PERMISSION_DENIED)).toBe('no');
});

it('a launch of a child that has been launched already succeeds', async () => {
  expect(await launchRefusedWith(status.ALREADY_EXISTS)).toBeUndefined();
});
