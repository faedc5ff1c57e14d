import { create, type DescMethod, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { TaskCreateRequestSchema } from '../../../../proto/gen/platformidl/admin/task_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { dispatcher } from '../../../../services/gateway/dispatch/dispatch.js';
import { idempotency } from '../../../../services/gateway/dispatch/idempotency.js';
import { receive } from '../../../../services/gateway/dispatch/receive.js';
import { contentHashOf } from '../../../../services/kernel/idempotency.js';
import { callOf } from './calls.js';

const { createTask } = AdminService.method;

/** A request with a map of two entries, one of them this large, in one order or the other. */
const requestOf = (textBytes: number, isReversed = false) => {
  const entries = [['a', 'x'.repeat(textBytes)] as const, ['b', 'y'] as const];
  const config = Object.fromEntries(isReversed ? entries.reverse() : entries);
  return create(TaskCreateRequestSchema, { spec: { template: { config } } });
};

/** The content hash of the call, and the RPCs whose requests `hashLarge` has hashed, as it does in another thread. */
const seen = async (kind: 'message' | 'bytes', message: ReturnType<typeof requestOf>, key?: string) => {
  const elsewhere: string[] = [];
  const hashLarge = ({ name }: DescMethod): Promise<string> => {
    elsewhere.push(name);
    return Promise.resolve('elsewhere');
  };
  const request = kind === 'message' ? message : toBinary(TaskCreateRequestSchema, message);
  const call = callOf(createTask, { request, headers: key === undefined ? {} : { 'idempotency-key': key } });
  await dispatcher([receive, idempotency(hashLarge)])(call, () => Promise.resolve(''));
  return { content: call.idempotency?.content, elsewhere };
};

describe.each(['message', 'bytes'] as const)('the content for an idempotency key, received as %s', (kind) => {
  it('is hashed in this thread when it is small, with the same result whatever the order of its maps', async () => {
    const content = contentHashOf(TaskCreateRequestSchema, requestOf(1_000));
    expect(await seen(kind, requestOf(1_000), 'k')).toEqual({ content, elsewhere: [] });
    expect(await seen(kind, requestOf(1_000, true), 'k')).toEqual({ content, elsewhere: [] });
  });

  it('is hashed in another thread when it has 40,000 bytes', async () => {
    expect(await seen(kind, requestOf(40_000), 'k')).toEqual({ content: 'elsewhere', elsewhere: ['CreateTask'] });
  });

  it.each(['', 'k'.repeat(257)])('is refused with a key that does not have 1 to 256 characters', async (key) => {
    await expect(seen(kind, requestOf(1), key)).rejects.toThrow(
      `invalid value for idempotency-key: not ${key.length}, but 1 to 256 characters`,
    );
  });

  it('is not hashed without a key', async () => {
    expect(await seen(kind, requestOf(40_000))).toEqual({ content: undefined, elsewhere: [] });
  });
});

it('bytes that were not checked before are refused as malformed when they are hashed', async () => {
  const request = Uint8Array.of(0x0a, 5); // a field of five bytes, and none of them
  const call = callOf(createTask, { request, headers: { 'idempotency-key': 'k' } });
  const refused = dispatcher([receive, idempotency(undefined)])(call, () => Promise.resolve(''));
  await expect(refused).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

it('the hash of 500,000 bytes is the same whatever the order of the maps, and differs for another content', () => {
  const [content, reversed] = [false, true].map((isReversed) =>
    contentHashOf(TaskCreateRequestSchema, requestOf(500_000, isReversed)),
  );
  expect(content).toBe(reversed);
  expect(content).not.toBe(contentHashOf(TaskCreateRequestSchema, requestOf(500_001)));
});
