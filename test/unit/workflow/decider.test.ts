import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { WorkflowRegisteredSchema } from '../../../proto/gen/platformidl/eventlog/workflow_pb.js';
import { UnknownEvent } from '../../../services/kernel/fault.js';
import { workflowDecider } from '../../../services/workflow/decider.js';
import { workflowCodec, type WorkflowEvent } from '../../../services/workflow/events.js';
import { given } from '../../support/streams/given.js';

const id = { resourceType: ResourceType.WORKFLOW, project: 'p', domain: 'd', name: 'n', version: 'v' } as const;
const compiled = new Uint8Array([1, 2, 3]);
const digest = new Uint8Array([4, 5]);
const register = { id, compiled, digest, interface: undefined, qualityOfService: undefined, description: undefined };

const registered: WorkflowEvent = {
  type: 'WorkflowRegistered',
  data: create(WorkflowRegisteredSchema, { id, compiled: { content: { case: 'inline', value: compiled } }, digest }),
};

describe('a version of a workflow', () => {
  it('is registered', () => given(workflowDecider).when(register).then(registered));

  it('is not registered again with the same content', () =>
    given(workflowDecider, registered).when(register).thenRefused({ kind: 'exists-identical' }));

  it('is not registered again with other content', () =>
    given(workflowDecider, registered)
      .when({ ...register, digest: new Uint8Array([4]) })
      .thenRefused({ kind: 'exists-different' }));
});

describe('the events of a workflow', () => {
  it('are read as they were written', () => {
    const { type, data } = workflowCodec.encode(registered);
    expect(workflowCodec.decode(type, data, 1)).toEqual(registered);
    expect(workflowCodec.contents(registered)).toEqual([registered.data.compiled]);
  });

  it('are not read when their type is unknown', () => {
    expect(() => workflowCodec.decode('WorkflowForgotten', new Uint8Array(), 1)).toThrow(UnknownEvent);
  });
});
