import { create } from '@bufbuild/protobuf';
import { WorkflowExecutionConfigSchema } from '../../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { WorkflowExecutionIdentifierSchema } from '../../../../proto/gen/platformidl/core/identifier_pb.js';
import type { EngineLaunch } from '../../../../engine/bridge/launch.js';
import type { ObjectOptions } from '../../../../engine/bridge/object/workflow-object.js';
import { fixtureExecutions, registeredWorld } from '../world.js';

/** The settings that objects of these tests are made with. */
export const objectOptions: ObjectOptions = {
  namespaceTemplate: '{{ project }}-{{ domain }}',
  madeBy: 'east',
  roleKey: 'iam.amazonaws.com/role',
  eventVersion: 2,
  consoleUrl: '',
};

const executions = fixtureExecutions(registeredWorld());

/** A launch of the first execution of a fixture, named `a1`, with some properties changed. */
export const fixtureLaunch = (fixture: string, changes: Partial<EngineLaunch> = {}): EngineLaunch => {
  const { launched } = executions.find((each) => each.fixture === fixture)!;
  return {
    id: create(WorkflowExecutionIdentifierSchema, { project: 'flytesnacks', domain: 'development', name: 'a1' }),
    launchId: '2026-03-02T09:58:16Z',
    config: create(WorkflowExecutionConfigSchema),
    pluginOverrides: [],
    ...launched,
    ...changes,
  };
};
