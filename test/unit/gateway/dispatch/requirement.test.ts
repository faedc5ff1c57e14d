import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ProjectRegisterRequestSchema } from '../../../../proto/gen/platformidl/admin/project_pb.js';
import { NodeExecutionEventRequestSchema } from '../../../../proto/gen/platformidl/admin/event_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { requirementOf } from '../../../../services/gateway/dispatch/requirement.js';
import { targetReader } from '../../../../services/gateway/dispatch/target.js';
import { routeTable } from '../../../../services/gateway/routes.js';
import { ServerReflection } from '../../../../proto/gen/grpc/reflection/v1/reflection_pb.js';

const { createNodeEvent, registerProject } = AdminService.method;

const nodeEvent = create(NodeExecutionEventRequestSchema, {
  requestId: 'r',
  event: {
    id: { nodeId: 'n0', executionId: { project: 'p', domain: 'd', name: 'e' } },
    producerId: 'engine',
  },
});
const targetOfNodeEvent = targetReader(createNodeEvent.input, requirementOf(createNodeEvent).target);

describe('what an RPC requires', () => {
  it('is declared for every RPC of the interface, with fields of its request that name the target', () => {
    for (const { method, requires } of routeTable([]))
      expect(() => targetReader(method.input, requires.target), method.name).not.toThrow();
  });

  it('must be declared: an RPC that is not in the table is an error', () => {
    expect(() => requirementOf(ServerReflection.method.serverReflectionInfo)).toThrow(
      'no permission is declared for ServerReflection.ServerReflectionInfo',
    );
  });

  it('is the permission `events` for the report of an engine', () => {
    expect(requirementOf(createNodeEvent).permission).toBe('events');
  });
});

describe('the target of a request', () => {
  const bytes = toBinary(NodeExecutionEventRequestSchema, nodeEvent);

  it('is the same in the message and in its bytes', () => {
    const target = { project: 'p', domain: 'd', name: 'e' };
    expect([targetOfNodeEvent(nodeEvent), targetOfNodeEvent(bytes)]).toEqual([target, target]);
  });

  it('is merged, as decoding does it, where the bytes have a field twice', () => {
    const later = create(NodeExecutionEventRequestSchema, { event: { id: { executionId: { project: 'other' } } } });
    const both = Buffer.concat([bytes, toBinary(NodeExecutionEventRequestSchema, later)]);
    expect(targetOfNodeEvent(both)).toEqual({ project: 'other', domain: 'd', name: 'e' });
  });

  it('is empty where the request does not name it, and marked where it cannot be decoded', () => {
    const empty = { project: '', domain: '', name: '' };
    expect(targetOfNodeEvent(new Uint8Array())).toEqual(empty);
    expect(targetOfNodeEvent(bytes.subarray(0, 10))).toEqual({ ...empty, isUnreadable: true });
  });

  it('may be a project alone', () => {
    const request = create(ProjectRegisterRequestSchema, { project: { id: 'p' } });
    expect(targetReader(registerProject.input, requirementOf(registerProject).target)(request)).toEqual({
      project: 'p',
      domain: '',
      name: '',
    });
  });
});
