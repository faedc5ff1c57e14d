import { create } from '@bufbuild/protobuf';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { CallError } from '../../../engine/call-error.js';
import { launchChild } from '../../../engine/child-executions.js';
import type { InterfaceClient } from '../../../engine/client.js';

/**
 * Launches a child on a control plane that answers with this status; gives the reason of a refusal that is not retried.
 */
const launchAnsweredWith = (code: status): Promise<string | undefined> => {
  const error = new CallError({ code, details: 'no', metadata: new Metadata() } as ServiceError, 0 /* retries */);
  const client: InterfaceClient = {
    close: () => undefined,
    call: () => Promise.reject(error),
    send: () => Promise.reject(error),
  };
  const child = { project: 'p', domain: 'd', name: 'child' };
  return launchChild(client, create(ExecutionSchema), { kind: 'launch', child, inputs: {} } as never);
};

it.each(['INTERNAL', 'UNAUTHENTICATED'] as const)(
  'a launch of a child that fails with status %s throws, so that the walk of its parent is retried',
  async (code) => {
    await expect(launchAnsweredWith(status[code])).rejects.toThrow('no');
  },
);

it('a launch of a child that is refused names the reason', async () => {
  expect(await launchAnsweredWith(status.PERMISSION_DENIED)).toBe('no');
});

it('a launch of a child that has been launched already succeeds', async () => {
  expect(await launchAnsweredWith(status.ALREADY_EXISTS)).toBeUndefined();
});
