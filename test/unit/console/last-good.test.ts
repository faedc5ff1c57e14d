import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterEach, expect, it, vi } from 'vitest';

import { ExecutionListSchema, ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';

afterEach(() => vi.unstubAllGlobals());

const answerOf = <Message extends DescMessage>(schema: Message, init: MessageInitShape<Message>): Response =>
  new Response(new Uint8Array(toBinary(schema, create(schema, init))));

const execution = (name: string, workflow: string): MessageInitShape<typeof ExecutionSchema> => ({
  id: { project: 'p', domain: 'd', name },
  closure: { workflowId: { name: workflow } },
});

/** Reads the last good execution other than `now` from a list with these executions; gives its name and the query. */
const lastGood = async (workflow: string, listed: readonly MessageInitShape<typeof ExecutionSchema>[]) => {
  vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/console/' });
  vi.stubGlobal('window', { addEventListener: () => undefined });
  const urls: URL[] = [];
  vi.stubGlobal('fetch', (url: URL) => {
    urls.push(url);
    const answer =
      urls.length === 1
        ? answerOf(ExecutionSchema, execution('now', workflow))
        : answerOf(ExecutionListSchema, { executions: [...listed] });
    return Promise.resolve(answer);
  });
  const { readLastGood } = await import('../../../console/execution/compare/last-good.js');
  const name = await readLastGood({ project: 'p', domain: 'd', name: 'now' }, new AbortController().signal);
  return { name, asked: urls[1]!.searchParams };
};

it('the last good execution is the newest other one of the workflow', async () => {
  const { name, asked } = await lastGood('train', [execution('now', 'train'), execution('before', 'train')]);
  expect(name).toBe('before');
  expect([asked.get('filters'), asked.get('limit')]).toEqual(['eq(phase,SUCCEEDED)+eq(workflow.name,train)', '2']);
});

it('the last good execution is found for a workflow whose name has a plus, which separates filters, and is none of a similar name', async () => {
  const { name, asked } = await lastGood('a+b', [execution('other', 'a-b'), execution('before', 'a+b')]);
  expect(name).toBe('before');
  expect(asked.get('filters')).toBe('eq(phase,SUCCEEDED)+contains(workflow.name,a_b)');
});
