import { create, type DescMessage, type MessageInitShape, toBinary, toJson } from '@bufbuild/protobuf';
import { afterEach, expect, it, vi } from 'vitest';

import {
  ExecutionSchema,
  ExecutionSpecSchema,
  WorkflowExecutionGetDataResponseSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { literal } from '../../support/requests/hello.js';

afterEach(() => vi.unstubAllGlobals());

const answerOf = <Message extends DescMessage>(
  schema: Message,
  init: MessageInitShape<Message>,
  headers: Readonly<Record<string, string>> = {},
): Response => new Response(new Uint8Array(toBinary(schema, create(schema, init))), { headers });

/** Asks for an input with a name that all objects have. */
const PLAN = {
  closure: {
    expectedInputs: {
      parameters: { constructor: { var: { type: { type: { case: 'simple', value: SimpleType.INTEGER } } } } },
    },
  },
} as const;

const SPEC = {
  ...{ labels: { values: { team: 'a' } }, metadata: { principal: 'ada' }, overwriteCache: true },
  inputs: { literals: { constructor: literal(1n) } },
};

const SCOPE = { project: 'p', domain: 'd' };

/** Reads the form of a relaunch of an execution with this spec and these data, which come with these headers. */
const readRelaunch = async (
  headers: Readonly<Record<string, string>>,
  spec: MessageInitShape<typeof ExecutionSpecSchema> = SPEC,
  data: MessageInitShape<typeof WorkflowExecutionGetDataResponseSchema> = {},
) => {
  vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/console/' });
  vi.stubGlobal('window', { addEventListener: () => undefined });
  vi.stubGlobal('fetch', ({ pathname }: URL) => {
    if (pathname.includes('/data/'))
      return Promise.resolve(answerOf(WorkflowExecutionGetDataResponseSchema, data, headers));
    return Promise.resolve(
      pathname.includes('/executions/') ? answerOf(ExecutionSchema, { spec }) : answerOf(LaunchPlanSchema, PLAN),
    );
  });
  const { readLaunchable } = await import('../../../console/launch/asked-inputs.js');
  const id = { ...SCOPE, name: 'plan', version: 'v1' };
  return readLaunchable({ kind: 'launch_plans', id, from: { ...SCOPE, name: 'before' } }, new AbortController().signal);
};

it('a relaunch begins with the inputs of the execution, which may have none', async () => {
  const initialOf = async (data?: MessageInitShape<typeof WorkflowExecutionGetDataResponseSchema>) =>
    (await readRelaunch({}, SPEC, data)).inputs.map(({ name, initial }) => [name, initial]);
  expect(await initialOf({ fullInputs: { literals: { constructor: literal(2n) } } })).toMatchObject([
    ['constructor', literal(2n)],
  ]);
  expect(await initialOf()).toEqual([['constructor', undefined]]);
});

it('a relaunch keeps the labels of the execution, but neither its inputs in the spec nor that it ignored the cache', async () => {
  const { spec } = await readRelaunch({});
  expect(toJson(ExecutionSpecSchema, spec)).toEqual({
    labels: { values: { team: 'a' } },
    metadata: { mode: 'RELAUNCH', referenceExecution: { ...SCOPE, name: 'before' } },
  });
});

it('a relaunch has the launch plan of the execution, also one of another project and domain', async () => {
  const launchPlan = { project: 'other', domain: 'production', name: 'plan', version: 'v1' };
  expect((await readRelaunch({}, { launchPlan })).target).toMatchObject(launchPlan);
});

it('a relaunch fails when the inputs of the execution cannot be read', async () => {
  await expect(
    readRelaunch({ 'flightlog-unread': 'full_inputs=store-unavailable', 'flightlog-request-id': 'r1' }),
  ).rejects.toMatchObject({
    message: 'the inputs of before cannot be read: store-unavailable',
    status: 500,
    requestId: 'r1',
  });
});
