import { create } from '@bufbuild/protobuf';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  PluginOverride_MissingPluginBehavior,
  PluginOverrideSchema,
  TaskResourceAttributesSchema,
  type WorkflowExecutionConfig,
  WorkflowExecutionConfigSchema,
} from '../../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { LiteralMapSchema } from '../../../../proto/gen/platformidl/core/literals_pb.js';
import { WorkflowExecutionIdentifierSchema } from '../../../../proto/gen/platformidl/core/identifier_pb.js';
import { UnfitLaunch } from '../../../../engine/bridge/object/go-json.js';
import { workflowObject } from '../../../../engine/bridge/object/workflow-object.js';
import { CHECKOUT } from '../../../support/processes/command.js';
import { fixtureLaunch, objectOptions } from './launches.js';

const FOLDER = join(CHECKOUT, 'test/fixtures/flyte-workflows');

const config = (init: MessageInitShape<typeof WorkflowExecutionConfigSchema>): WorkflowExecutionConfig =>
  create(WorkflowExecutionConfigSchema, init);

const objectOf = (...args: Parameters<typeof fixtureLaunch>) => workflowObject(fixtureLaunch(...args), objectOptions);

describe('the object of a launch', () => {
  // Read by the Go types of release 1.16.8 of the engine, each recorded file equals the output of the engine's
  // transformer.
  it.each([
    '02-diamond',
    '03-branches',
    '04-nested',
    '05-launch-plans',
    '07-maps',
    '08-gates',
    '09-task-kinds',
    '11-failures',
  ])('is the recorded one, which equals that of the engine: %s', async (fixture) => {
    const text = `${JSON.stringify(objectOf(fixture), undefined, 1)}\n`;
    await expect(text).toMatchFileSnapshot(join(FOLDER, `${fixture}.json`));
  });

  it('has the name, labels, annotations and finalizer that engines expect', () => {
    const { apiVersion, kind, metadata } = objectOf('01-hello');
    expect({ apiVersion, kind, metadata }).toEqual({
      apiVersion: 'flyte.lyft.com/v1alpha1',
      kind: 'FlyteWorkflow',
      metadata: {
        name: 'a1',
        namespace: 'flytesnacks-development',
        labels: {
          'execution-id': 'a1',
          project: 'flytesnacks',
          domain: 'development',
          'workflow-name': 'hello-hello',
          'shard-key': '7',
          'flightlog.io/bridge': 'east',
        },
        annotations: { 'flightlog.io/launch-id': '2026-03-02T09:58:16Z' },
        finalizers: ['flyte.org/finalizer'],
      },
    });
  });

  it('keeps its own labels when the execution has inherited those of its parent', () => {
    const labels = { values: { 'execution-id': 'parent', team: 'maps' } };
    expect(objectOf('01-hello', { config: config({ labels }) }).metadata.labels).toMatchObject({
      'execution-id': 'a1',
      team: 'maps',
    });
  });

  it('has the service account, role and secrets of the security context', () => {
    const securityContext = {
      runAs: { iamRole: 'arn:role', k8sServiceAccount: 'runner' },
      secrets: [{ group: 'db', key: 'password', mountRequirement: 2 }],
    };
    const object = objectOf('01-hello', { config: config({ securityContext, annotations: { values: { a: 'b' } } }) });
    expect(object['serviceAccountName']).toBe('runner');
    expect(object.metadata.annotations).toMatchObject({ a: 'b', 'iam.amazonaws.com/role': 'arn:role' });
    expect(object['securityContext']).toEqual({
      run_as: { iam_role: 'arn:role', k8s_service_account: 'runner' },
      secrets: [{ group: 'db', key: 'password', mount_requirement: 2 }],
    });
  });

  it('has the settings of the execution under the names of the Go fields', () => {
    const object = objectOf('01-hello', {
      config: config({
        maxParallelism: 7,
        interruptible: false,
        overwriteCache: true,
        envs: { values: [{ key: 'STAGE', value: 'test' }] },
        rawOutputDataConfig: { outputLocationPrefix: 's3://raw' },
      }),
      pluginOverrides: [
        create(PluginOverrideSchema, {
          taskType: 'spark',
          pluginId: ['own'],
          missingPluginBehavior: PluginOverride_MissingPluginBehavior.USE_DEFAULT,
        }),
      ],
      taskResources: create(TaskResourceAttributesSchema, {
        defaults: { cpu: '500m', memory: '0Gi' },
        limits: { gpu: '1' },
      }),
      recovers: create(WorkflowExecutionIdentifierSchema, { project: 'p', domain: 'd', name: 'earlier' }),
    });
    const none = { CPU: '0', Memory: '0', EphemeralStorage: '0', Storage: '0', GPU: '0' };
    expect(object['executionConfig']).toEqual({
      TaskPluginImpls: { spark: { PluginIDs: ['own'], MissingPluginBehavior: 1 } },
      MaxParallelism: 7,
      RecoveryExecution: { project: 'p', domain: 'd', name: 'earlier' },
      TaskResources: { Requests: { ...none, CPU: '500m' }, Limits: { ...none, GPU: '1' } },
      Interruptible: false,
      OverwriteCache: true,
      EnvironmentVariables: { STAGE: 'test' },
    });
    expect(object['rawOutputDataConfig']).toEqual({ output_location_prefix: 's3://raw' });
    expect(object['workflowMeta']).toEqual({ eventVersion: 2 });
  });

  it('is refused when an input has no value', () => {
    expect(() => objectOf('02-diamond', { inputs: create(LiteralMapSchema) })).toThrow(
      /^inputs without a value: .*survey/u,
    );
  });

  it('is refused when JSON cannot represent a value of its inputs: a retry would not change that', () => {
    const nan = { value: { case: 'scalar', value: { value: { case: 'generic', value: { share: NaN } } } } } as const;
    const { literals } = fixtureLaunch('01-hello').inputs;
    const inputs = create(LiteralMapSchema, { literals: { ...literals, more: nan } });
    expect(() => objectOf('01-hello', { inputs })).toThrow(UnfitLaunch);
  });

  it('is refused when an amount is no quantity of Kubernetes: with it, engines could not read lists of objects', () => {
    const taskResources = create(TaskResourceAttributesSchema, { limits: { cpu: 'two' } });
    expect(() => objectOf('01-hello', { taskResources })).toThrow('"two" is not a quantity of Kubernetes');
  });

  it('holds the longest duration that Go knows in place of a longer one', () => {
    const launch = fixtureLaunch('01-hello');
    const node = launch.closure.primary!.template!.nodes.find(({ target }) => target.case === 'taskNode')!;
    const timeout = { $typeName: 'google.protobuf.Duration' as const, seconds: 200n * 365n * 86_400n, nanos: 5 };
    const changed = { ...node, metadata: { ...node.metadata!, timeout } };
    const template = { ...launch.closure.primary!.template!, nodes: [changed] };
    const primary = { ...launch.closure.primary!, template };
    const object = workflowObject({ ...launch, closure: { ...launch.closure, primary } }, objectOptions);
    expect(object['spec']).toMatchObject({
      nodes: { [node.id]: { executionDeadline: '6307200000000000005ns', activeDeadline: '9223372036854775807ns' } },
    });
  });
});
