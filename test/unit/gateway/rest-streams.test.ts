import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { status as grpcStatus } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';

import {
  ExecuteTaskSyncRequestSchema,
  ExecuteTaskSyncResponseSchema,
} from '../../../proto/gen/platformidl/admin/agent_pb.js';
import { LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { SyncAgentService } from '../../../proto/gen/platformidl/service/agent_pb.js';
import type { StreamRoute } from '../../../services/kernel/rpc.js';
import { overHttp } from './toy.js';

const PATH = '/api/v1/agent/task/stream';

/** The output prefix in each message that the handler has received. */
const prefixes: (string | undefined)[] = [];

/** The answer to each message. */
let streamed: Uint8Array = new Uint8Array();

const route: StreamRoute = {
  method: SyncAgentService.method.executeTaskSync,
  takes: 'stream',
  async *open(requests) {
    for await (const request of requests) {
      const { part } = fromBinary(ExecuteTaskSyncRequestSchema, request);
      prefixes.push(part.case === 'header' ? part.value.outputPrefix : undefined);
      yield streamed;
    }
  },
};

let toy: Awaited<ReturnType<typeof overHttp>>;
beforeAll(async () => {
  toy = await overHttp([route]);
});
afterAll(() => toy.close());

const message = (prefix: string): string => JSON.stringify({ header: { output_prefix: prefix } });

it('the messages of a stream come one on each line of a body', async () => {
  expect((await toy.send('POST', PATH, `${message('ä')}\n${message('b')}\n`)).status).toBe(200);
  expect(prefixes.splice(0)).toEqual(['ä', 'b']);
});

it.each([1, 2])('a body of a stream that is not UTF-8 is refused, with %s lines', async (count) => {
  const line = Buffer.from(`${message('ä')}\n`, 'latin1');
  const answer = await toy.send('POST', PATH, Buffer.concat(Array<Buffer>(count).fill(line)));
  expect(await answer.json()).toMatchObject({
    code: grpcStatus.INVALID_ARGUMENT,
    message: 'malformed JSON: the body is not valid UTF-8',
  });
  expect(prefixes).toEqual([]);
});

it('an answer of a stream may be nested deeper than a request', async () => {
  let literal = create(LiteralSchema);
  for (let level = 0; level < 60; level += 1)
    literal = create(LiteralSchema, { value: { case: 'collection', value: { literals: [literal] } } });
  const outputs = { literals: { nested: literal } };
  streamed = toBinary(
    ExecuteTaskSyncResponseSchema,
    create(ExecuteTaskSyncResponseSchema, { res: { case: 'outputs', value: outputs } }),
  );
  const sent = await toy.send('POST', PATH, message('a'));
  expect(sent.status).toBe(200);
  expect(await sent.text()).toMatch(/^\{"result":\{"outputs":/);
});
