import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ExecutionCreateRequestSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type Actor, launch, type LaunchServices } from '../../../services/execution/launch/launch.js';
import { RpcError } from '../../../services/kernel/rpc.js';
import { type ControlPlane, openControlPlane } from './control-plane.js';

const place = { project: 'flytesnacks', domain: 'development' };
const actor: Actor = { actor: 'scheduler', principal: 'ada', commandId: 'command' };
let plane: ControlPlane;

beforeAll(async () => {
  plane = await openControlPlane(['01-hello']);
});
afterAll(() => plane.close());

const launched = (name: string, services: Partial<LaunchServices> = {}, version = 'v1') => {
  const launchPlan = { ...place, resourceType: ResourceType.LAUNCH_PLAN, name: 'hello.hello', version };
  const request = create(ExecutionCreateRequestSchema, { ...place, name, spec: { launchPlan } });
  return launch({ ...plane.services, ...services }, { request, given: create(LiteralMapSchema) }, actor);
};

describe('a launch', () => {
  it('answers the id of the new execution, which runs for the principal', async () => {
    expect(await launched('one')).toMatchObject({ kind: 'launched', id: { ...place, name: 'one' } });
    const [created] = await plane.history('one');
    expect(created).toMatchObject({ type: 'ExecutionCreated', data: { spec: { metadata: { principal: 'ada' } } } });
  });

  it('is refused when the execution exists', async () => {
    await launched('twice');
    expect(await launched('twice')).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'execution', refusal: { kind: 'execution-exists' } },
    });
  });

  it('is refused with NOT_FOUND when its version is unknown', async () => {
    expect(await launched('lost', {}, 'v0')).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'invalid', error: { code: 'NOT_FOUND' } },
    });
  });

  it('throws an error that is not about its request', async () => {
    const busy = new RpcError('RESOURCE_EXHAUSTED', 'too many launches');
    const overloaded = { attributes: { of: () => Promise.reject(busy) } };
    await expect(launched('busy', overloaded)).rejects.toBe(busy);
  });
});
