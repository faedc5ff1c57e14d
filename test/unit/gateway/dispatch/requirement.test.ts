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
const readNodeEvent = targetReader(createNodeEvent.input, requirementOf(createNodeEvent).target);

describe('what an RPC requires', () => {
  it('is said of every RPC of the interface, and where its requests say what they are about', () => {
    for (const { method, requires } of routeTable([]))
      expect(() => targetReader(method.input, requires.target), method.name).not.toThrow();
  });

  it('is asked for of what is not in the table', () => {
    expect(() => requirementOf(ServerReflection.method.serverReflectionInfo)).toThrow(
      'no permission is declared for ServerReflection.ServerReflectionInfo',
    );
  });

  it('is the permission for events of a report of an engine', () => {
    expect(requirementOf(createNodeEvent).permission).toBe('events');
  });
});

describe('what a request is about', () => {
  const bytes = toBinary(NodeExecutionEventRequestSchema, nodeEvent);

  it('is the same in the message and in its bytes', () => {
    const target = { project: 'p', domain: 'd', name: 'e' };
    expect([readNodeEvent(nodeEvent), readNodeEvent(bytes)]).toEqual([target, target]);
  });

  it('is what the handler sees where the bytes say it in pieces', () => {
    const later = create(NodeExecutionEventRequestSchema, { event: { id: { executionId: { project: 'other' } } } });
    const both = Buffer.concat([bytes, toBinary(NodeExecutionEventRequestSchema, later)]);
    expect(readNodeEvent(both)).toEqual({ project: 'other', domain: 'd', name: 'e' });
  });

  it('is empty where the request does not say it, or cannot be read', () => {
    const empty = { project: '', domain: '', name: '' };
    expect(readNodeEvent(new Uint8Array())).toEqual(empty);
    expect(readNodeEvent(bytes.subarray(0, 10))).toEqual(empty);
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
