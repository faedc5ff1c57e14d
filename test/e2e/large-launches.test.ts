import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LiteralMapSchema, LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { statuses } from '../../services/gateway/status.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { helloRequest, literal } from '../support/requests/hello.js';
import type { Transport } from '../support/clients/transports.js';

const { method } = AdminService;

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

const transportOf = (way: string): Transport =>
  way === 'rest-octets' ? plane.octets : way === 'rest-json' ? plane.rest : plane.grpc;

/** Takes about a second to decode. */
const manyLiterals = create(LiteralMapSchema, {
  literals: Object.fromEntries(Array.from({ length: 80_000 }, (_, at) => [`input-${at}`, literal(`value ${at}`)])),
});
const listOf = (length: number) =>
  create(LiteralSchema, {
    value: { case: 'collection', value: { literals: Array.from({ length }, (_, at) => literal(`value ${at}`)) } },
  });

describe.each(['grpc', 'rest-octets', 'rest-json'])('a launch with large inputs over %s', (way) => {
  it('is read beside other calls, which are answered meanwhile', async () => {
    let isAnswered = false;
    const request = helloRequest(`many-${way}`, (each) => (each.inputs = manyLiterals));
    const launching = transportOf(way)
      .attempt(method.createExecution, request)
      .finally(() => (isAnswered = true));
    for (let call = 0; call < 30; call += 1) await plane.grpc.call(method.getVersion, {});
    expect(isAnswered).toBe(false);
    // The workflow has no inputs of these names, which is found after all have been read.
    expect(await launching).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'invalid input input-0' });
  }, 120_000);

  it('has all its inputs, and so has its relaunch', async () => {
    const text = 'x'.repeat(1_000_000);
    const request = helloRequest(`large-${way}`, ({ inputs }) => {
      inputs!.literals['name'] = create(LiteralSchema, literal(text));
    });
    const { id } = await transportOf(way).call(method.createExecution, request);
    const again = await transportOf(way).call(method.relaunchExecution, { id: id!, name: `again-${way}` });
    for (const each of [id, again.id]) {
      const { fullInputs } = await plane.grpc.call(method.getExecutionData, { id: each! });
      expect(fullInputs!.literals).toMatchObject({ name: literal(text), times: request.inputs!.literals['times'] });
    }
    const { spec } = await plane.grpc.call(method.getExecution, { id: id! });
    expect(spec!.launchPlan!.name).toBe('hello.hello');
  });

  it('is refused with the reason when it is invalid, and nothing is recorded', async () => {
    const refused = (name: string, change: Parameters<typeof helloRequest>[1]) =>
      plane.unchanged(() => transportOf(way).attempt(method.createExecution, helloRequest(name, change)));
    const wrongType = await refused('wrong-type', ({ inputs }) => (inputs!.literals['name'] = listOf(30_000)));
    expect(wrongType).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('invalid name input wrong type') as string,
    });
    const empty = await refused('no-value', ({ inputs }) => {
      inputs!.literals['name'] = create(LiteralSchema, literal('x'.repeat(300_000)));
      inputs!.literals['times'] = create(LiteralSchema);
    });
    expect(empty).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'missing valid literal in inputs times' });
    const elsewhere = await refused('elsewhere', (request) => {
      request.inputs!.literals['name'] = create(LiteralSchema, literal('x'.repeat(300_000)));
      request.project = 'no-such-project';
    });
    expect(elsewhere).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('no-such-project') as string,
    });
    const spec = await refused('large-spec', (request) => {
      request.spec!.metadata!.principal = 'x'.repeat(1_000_000);
    });
    expect(spec).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message: expect.stringContaining('message larger than max') as string,
    });
  });

  it.skipIf(way === 'rest-json')(
    'is INVALID_ARGUMENT when its bytes cannot be decoded, and the answer names the byte',
    async () => {
      const request = helloRequest('damaged', ({ inputs }) => {
        inputs!.literals['name'] = create(LiteralSchema, literal('x'.repeat(300_000)));
      });
      const bytes = toBinary(method.createExecution.input, request);
      const damaged = Uint8Array.from(bytes);
      damaged.fill(0xff, bytes.length - 100, bytes.length - 60); // not UTF-8
      for (const sent of [damaged, bytes.subarray(0, bytes.length - 10)]) {
        const { code, message } = await plane.unchanged(() => transportOf(way).send('CreateExecution', sent));
        expect([code, message]).toEqual([
          'INVALID_ARGUMENT',
          expect.stringMatching(/^cannot decode .*\(at byte \d+\)/u),
        ]);
      }
    },
  );
});

describe('a large body in JSON', () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${plane.server().ready.http}/api/v1/executions`, { method: 'POST', body, headers });
  /** Makes a body so large that it is parsed on another thread. */
  const LARGE = 'x'.repeat(300_000);

  it.each([
    ['that is cut off', `{"project": "${LARGE}`, {}, 'malformed JSON'],
    ['with a value that its field cannot have', `{"name": "${LARGE}", "spec": {"maxParallelism": "many"}}`, {}, 'spec'],
    [
      'with a name that the message does not have',
      `{"name": "${LARGE}", "colour": 1}`,
      { 'content-type': 'application/json' },
      'colour',
    ],
  ])('%s is INVALID_ARGUMENT', async (_, body, headers, text) => {
    const answer = await plane.unchanged(() => post(body, headers));
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      code: statuses.INVALID_ARGUMENT.number,
      message: expect.stringContaining(text) as string,
    });
  });
});
