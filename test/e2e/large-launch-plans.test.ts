import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  type LaunchPlanCreateRequest,
  LaunchPlanCreateRequestSchema,
} from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema, type LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { SimpleType } from '../../proto/gen/platformidl/core/types_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { literal } from '../support/requests/hello.js';
import { PLACE, registerWorkflow } from '../support/requests/registrations.js';
import { overRest, type Transport } from '../support/clients/transports.js';

const { method } = AdminService;
/** A workflow whose input `all` is a list of texts. */
const WORKFLOW = 'listing';
const STRING = { type: { case: 'simple', value: SimpleType.STRING } } as const;

let plane: ControlPlane;
let octets: Transport;
beforeAll(async () => {
  plane = await startControlPlane();
  octets = overRest(plane.server().ready, 'octets');
  await register(plane.grpc, withNeeds('01-hello'));
  await registerWorkflow(plane.grpc, { name: WORKFLOW }, ({ spec }) => {
    spec!.template!.interface!.inputs!.variables['all'] = {
      $typeName: 'platformidl.core.Variable',
      description: '',
      type: {
        $typeName: 'platformidl.core.LiteralType',
        type: { case: 'collectionType', value: { $typeName: 'platformidl.core.LiteralType', ...STRING } },
      },
    };
  });
});
afterAll(() => plane.close());

const transportOf = (way: string): Transport =>
  way === 'rest-octets' ? octets : way === 'rest-json' ? plane.rest : plane.grpc;

/** A list of this number of texts, and `last`. */
const listOf = (length: number, last: string | bigint = 'last'): MessageInitShape<typeof LiteralSchema> => {
  const literals = [...Array.from({ length }, (_, at) => literal(`value ${at}`)), literal(last)];
  return { value: { case: 'collection', value: { literals } } };
};

/** A launch plan with a fixed list. */
const planOf = (
  version: string,
  all: MessageInitShape<typeof LiteralSchema>,
  change: (request: LaunchPlanCreateRequest) => void = () => undefined,
): LaunchPlanCreateRequest => {
  const request = create(LaunchPlanCreateRequestSchema, {
    id: { resourceType: ResourceType.LAUNCH_PLAN, ...PLACE, name: WORKFLOW, version },
    spec: {
      workflowId: { resourceType: ResourceType.WORKFLOW, ...PLACE, name: WORKFLOW, version: 'v1' },
      fixedInputs: { literals: { all } },
    },
  });
  change(request);
  return request;
};

/** Values of a request of 5 MB, which takes about a second to decode. */
const VALUES = 240_000;
/** Values of a request above the size from which JSON bodies, too, are parsed on another thread. */
const FEWER = 12_000;

describe.each(['grpc', 'rest-octets', 'rest-json'])('a large launch plan over %s', (way) => {
  it('is read beside other calls, which are answered meanwhile, and registered whole', async () => {
    const request = planOf(`large-${way}`, listOf(VALUES));
    let isAnswered = false;
    const registering = transportOf(way)
      .attempt(method.createLaunchPlan, request)
      .finally(() => (isAnswered = true));
    for (let call = 0; call < 30; call += 1) await plane.grpc.call(method.getVersion, {});
    expect(isAnswered).toBe(false);
    expect(await registering).toMatchObject({ code: 'OK' });
    const { spec, closure } = await plane.grpc.call(method.getLaunchPlan, { id: request.id! });
    const sent = toBinary(LiteralMapSchema, request.spec!.fixedInputs!);
    expect(Buffer.from(toBinary(LiteralMapSchema, spec!.fixedInputs!)).equals(sent)).toBe(true);
    expect(Object.keys(closure!.expectedInputs!.parameters)).toEqual(['name', 'times']);
    expect(Object.keys(closure!.expectedOutputs!.variables)).not.toEqual([]);
  }, 120_000);

  it('is ALREADY_EXISTS the second time, identical or different', async () => {
    const request = planOf(`again-${way}`, listOf(FEWER));
    await plane.grpc.call(method.createLaunchPlan, request);
    const again = await plane.unchanged(() => transportOf(way).attempt(method.createLaunchPlan, request));
    expect(again).toMatchObject({ code: 'ALREADY_EXISTS', message: expect.stringContaining('identical') as string });
    const other = planOf(`again-${way}`, listOf(1));
    const changed = await plane.unchanged(() => transportOf(way).attempt(method.createLaunchPlan, other));
    expect(changed).toMatchObject({ code: 'ALREADY_EXISTS', message: expect.stringContaining('different') as string });
  });

  it.skipIf(way === 'rest-json')(
    'is registered once under an idempotency key, which is refused with other content',
    async () => {
      const bytes = (length: number) => toBinary(LaunchPlanCreateRequestSchema, planOf(`keyed-${way}`, listOf(length)));
      const send = (length: number) =>
        transportOf(way).send('CreateLaunchPlan', bytes(length), { 'idempotency-key': `key-${way}` });
      expect((await send(FEWER)).code).toBe('OK');
      expect((await plane.unchanged(() => send(FEWER))).code).toBe('OK');
      const other = await plane.unchanged(() => send(FEWER + 1));
      expect([other.code, other.message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining('idempotency-key')]);
    },
  );

  it.each<readonly [string, (request: LaunchPlanCreateRequest) => void, string, string]>([
    ['without a workflow', ({ spec }) => delete spec!.workflowId, 'INVALID_ARGUMENT', 'missing id of spec.workflow_id'],
    ['of an unknown workflow', ({ spec }) => (spec!.workflowId!.version = 'v0'), 'NOT_FOUND', 'v0'],
    ['without an id', (request) => delete request.id, 'INVALID_ARGUMENT', 'missing id'],
    ['of an unknown project', ({ id }) => (id!.project = 'no-such-project'), 'INVALID_ARGUMENT', 'no-such-project'],
    [
      'with an invalid label',
      ({ spec }) => (spec!.labels = { $typeName: 'platformidl.admin.Labels', values: { 'a b': '1' } }),
      'INVALID_ARGUMENT',
      'invalid label key',
    ],
    [
      'with a value of another type',
      ({ spec }) => {
        const { fixedInputs } = planOf('', listOf(1, 1n)).spec!;
        Object.assign(spec!.fixedInputs!.literals, { name: fixedInputs!.literals['all']! });
      },
      'INVALID_ARGUMENT',
      'invalid fixed_input wrong type name',
    ],
  ])('%s is refused with the reason, and nothing is recorded', async (_, change, status, text) => {
    const request = planOf('refused', listOf(FEWER), change);
    const { code, message } = await plane.unchanged(() => transportOf(way).attempt(method.createLaunchPlan, request));
    expect([code, message]).toEqual([status, expect.stringContaining(text)]);
  });

  it.skipIf(way === 'rest-json')(
    'is INVALID_ARGUMENT when its bytes cannot be decoded, and the answer names the byte',
    async () => {
      const bytes = toBinary(LaunchPlanCreateRequestSchema, planOf('damaged', listOf(FEWER)));
      const damaged = Uint8Array.from(bytes);
      damaged.fill(0xff, bytes.length - 100, bytes.length - 60); // not UTF-8
      for (const sent of [damaged, bytes.subarray(0, bytes.length - 10)]) {
        const { code, message } = await plane.unchanged(() => transportOf(way).send('CreateLaunchPlan', sent));
        expect([code, message]).toEqual([
          'INVALID_ARGUMENT',
          expect.stringMatching(/^cannot decode .*\(at byte \d+\)/u),
        ]);
      }
    },
  );
});
