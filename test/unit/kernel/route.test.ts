import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import {
  TaskCreateRequestSchema,
  type TaskCreateResponse,
  TaskCreateResponseSchema,
} from '../../../proto/gen/platformidl/admin/task_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { contentOf } from '../../../services/kernel/idempotency.js';
import { bytesRoute, type Call, route } from '../../../services/kernel/rpc.js';

const { createTask } = AdminService.method;

const requestOf = (textBytes: number, isTurned = false) => {
  const entries = [['a', 'x'.repeat(textBytes)] as const, ['b', 'y'] as const];
  const config = Object.fromEntries(isTurned ? entries.reverse() : entries);
  return create(TaskCreateRequestSchema, { spec: { template: { config } } });
};

/** The content that a handler sees, and what was hashed elsewhere. */
const seen = async (kind: 'message' | 'bytes', request: ReturnType<typeof requestOf>, key?: string) => {
  const contents: (string | undefined)[] = [];
  const elsewhere: string[] = [];
  const handle = (_: unknown, { idempotency }: Call): Promise<TaskCreateResponse> => {
    contents.push(idempotency?.content);
    return Promise.resolve(create(TaskCreateResponseSchema));
  };
  const call: Call = {
    principal: '',
    requestId: 'r',
    ...(key !== undefined && { idempotencyKey: key }),
    hashLarge: ({ name }) => {
      elsewhere.push(name);
      return Promise.resolve('elsewhere');
    },
    isCancelled: () => false,
    answeredAt: () => undefined,
  };
  const bytes = toBinary(TaskCreateRequestSchema, request);
  if (kind === 'message') await route(createTask, handle).handle(request as never, call);
  else await bytesRoute(createTask, handle).handle(bytes as never, call);
  return { content: contents[0], elsewhere };
};

describe.each(['message', 'bytes'] as const)(
  'what the key of a request stands for, of a route that takes %s',
  (kind) => {
    it('is hashed on the spot when it is small, whatever the order of its maps', async () => {
      const content = contentOf(TaskCreateRequestSchema, requestOf(1_000));
      expect(await seen(kind, requestOf(1_000), 'k')).toEqual({ content, elsewhere: [] });
      expect(await seen(kind, requestOf(1_000, true), 'k')).toEqual({ content, elsewhere: [] });
    });

    it('is hashed elsewhere when it is large', async () => {
      expect(await seen(kind, requestOf(40_000), 'k')).toEqual({ content: 'elsewhere', elsewhere: ['CreateTask'] });
    });

    it('is not hashed without a key', async () => {
      expect(await seen(kind, requestOf(40_000))).toEqual({ content: undefined, elsewhere: [] });
    });
  },
);

it('is the same at any size, whatever the order of the maps', () => {
  const [content, turned] = [false, true].map((isTurned) =>
    contentOf(TaskCreateRequestSchema, requestOf(500_000, isTurned)),
  );
  expect(content).toBe(turned);
  expect(content).not.toBe(contentOf(TaskCreateRequestSchema, requestOf(500_001)));
});
