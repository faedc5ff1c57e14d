import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterEach, expect, it, vi } from 'vitest';

import { WorkflowExecutionGetDataResponseSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import type { LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';

afterEach(() => vi.unstubAllGlobals());

/** A list in a list, and so on; each list is two messages deep. */
const nested = (lists: number): MessageInitShape<typeof LiteralSchema> =>
  lists === 0 ? {} : { value: { case: 'collection', value: { literals: [nested(lists - 1)] } } };

it('an answer is read that is nested deeper than a request may be', async () => {
  vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/console/' });
  vi.stubGlobal('window', { addEventListener: () => undefined });
  const answer = create(WorkflowExecutionGetDataResponseSchema, { fullInputs: { literals: { a: nested(60) } } });
  const bytes = new Uint8Array(toBinary(WorkflowExecutionGetDataResponseSchema, answer));
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(bytes)));
  const { call } = await import('../../../console/server/call.js');
  const id = { project: 'p', domain: 'd', name: 'deep' };
  expect(await call(AdminService.method.getExecutionData, { id })).toEqual(answer);
});
