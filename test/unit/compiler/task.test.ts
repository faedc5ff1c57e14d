import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  type Resources_ResourceEntry,
  Resources_ResourceName as ResourceName,
  type TaskTemplate,
  TaskTemplateSchema,
} from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { isWhole, parseQuantity, roundedUp } from '../../../services/compiler/resources/quantity.js';
import { singleTaskWorkflow } from '../../../services/compiler/single-task.js';
import { compileTask } from '../../../services/compiler/task.js';
import { type PlatformLimits, taskResourcesProblem } from '../../../services/compiler/resources/task-resources.js';
import { compileWorkflow } from '../../../services/compiler/workflow.js';
import { registeredFixtures } from './registered.js';

const id = { project: 'p', domain: 'd', name: 'tasks.one', version: 'v' };
type Entries = readonly (readonly [ResourceName, string])[];
const entries = (list: Entries): Pick<Resources_ResourceEntry, 'name' | 'value'>[] =>
  list.map(([name, value]) => ({ name, value }));

const withTarget = (target: MessageInitShape<typeof TaskTemplateSchema>['target']): TaskTemplate =>
  create(TaskTemplateSchema, { id, ...(target && { target }) });
/** A task that runs in a container with these requests and limits. */
const container = (requests: Entries, limits: Entries = []): TaskTemplate =>
  withTarget({
    case: 'container',
    value: { image: 'i', resources: { requests: entries(requests), limits: entries(limits) } },
  });
/** A task that runs in a pod with this specification. */
const pod = (podSpec?: JsonObject): TaskTemplate =>
  withTarget({ case: 'k8sPod', value: podSpec === undefined ? {} : { podSpec } });

describe('a quantity', () => {
  /** One more character than a quantity may have. */
  const TOO_LONG = 65;

  test.each([
    ['1', 1n],
    ['0.1', 1n],
    ['500m', 1n],
    ['1500m', 2n],
    ['1k', 1000n],
    ['1Ki', 1024n],
    ['1.5Gi', 1_610_612_736n],
    ['2e3', 2000n],
    ['2E3', 2000n],
    ['1E', 10n ** 18n],
    ['.5', 1n],
    ['5.', 5n],
    ['-1500m', -1n],
    ['+3', 3n],
    ['1n', 1n],
    ['1e-3', 1n],
  ])('%s is %d, rounded up', (text, value) => {
    expect(roundedUp(parseQuantity(text)!)).toBe(value);
  });

  test.each(['', 'many', '1 ', '1gi', '1KI', '1.2.3', '1e', '1e99', '--1', 'Ki', '1mi', '9'.repeat(TOO_LONG)])(
    '%j is malformed',
    (text) => {
      expect(parseQuantity(text)).toBeUndefined();
    },
  );

  test('in thousandths is whole when a thousand divides it', () => {
    fc.assert(
      fc.property(fc.nat(), (thousandths) => {
        expect(isWhole(parseQuantity(`${thousandths}m`)!)).toBe(thousandths % 1000 === 0);
        expect(roundedUp(parseQuantity(`${thousandths}m`)!)).toBe(BigInt(Math.ceil(thousandths / 1000)));
      }),
    );
  });
});

describe('the resources of a task', () => {
  const { CPU, GPU, MEMORY, EPHEMERAL_STORAGE } = ResourceName;
  const limits: PlatformLimits = { cpu: '2', memory: '1Gi', gpu: '1', ephemeralStorage: '' };

  test.each([
    ['a request below its own limit', container([[CPU, '500m']], [[CPU, '1']])],
    ['a request above its own limit', container([[CPU, '1']], [[CPU, '500m']])],
    ['a request of storage, which the platform does not limit', container([[EPHEMERAL_STORAGE, '1Ti']])],
    ['a limit without a request, above that of the platform', container([], [[CPU, '64']])],
    ['a GPU whose limit is written in thousandths', container([[GPU, '1']], [[GPU, '1000m']])],
    [
      'more GPUs of a pod than the platform allows a container',
      pod({ containers: [{ name: 'a', resources: { requests: { 'nvidia.com/gpu': 9, cpu: 1 } } }] }),
    ],
    [
      'requests and limits of a pod that are null',
      pod({
        containers: [{ name: 'a', resources: { requests: { cpu: null, 'ephemeral-storage': null }, limits: null } }],
      }),
    ],
    ['a pod whose containers are null', pod({ containers: null, initContainers: [{ name: 'a', resources: null }] })],
    ['a task without a container', withTarget({ case: 'sql', value: { statement: 'select 1' } })],
  ])('are accepted: %s', (_what, template) => {
    expect(taskResourcesProblem(template, limits)).toBeUndefined();
  });

  test.each<[text: string, template: TaskTemplate]>([
    [
      "can't specify cpu request for task [p:d:tasks.one:v] multiple times",
      container([
        [CPU, '1'],
        [CPU, '2'],
      ]),
    ],
    [
      "can't specify memory limit",
      container(
        [],
        [
          [MEMORY, '1'],
          [MEMORY, '1'],
        ],
      ),
    ],
    ['Parsing of cpu request failed for value many', container([[CPU, 'many']])],
    ['Parsing of ephemeral storage limit failed', container([], [[EPHEMERAL_STORAGE, 'x']])],
    ['gpu for [p:d:tasks.one:v] must be a whole number', container([[GPU, '500m']])],
    ['Requested memory default [2Gi]', container([[MEMORY, '2Gi']], [[MEMORY, '1Gi']])],
    ['greater than current limit set in the platform', container([[MEMORY, '1Gi']], [[MEMORY, '2Gi']])],
    ['Requested cpu default [3]', container([[CPU, '3']])],
    ["For extended resource 'gpu' the default value must equal the limit", container([[GPU, '1']], [[GPU, '2']])],
    ['Requested gpu default [2]', container([[GPU, '2']])],
    ['pod tasks should specify their target as a K8sPod', pod()],
    ['not a pod specification', pod({ containers: 'none' })],
    ['not a pod specification', pod({ containers: [{ name: 'a', resources: [] }] })],
    ['not a pod specification', pod({ containers: [{ name: 'a', resources: { requests: 'none' } }] })],
    ['not a pod specification', pod({ initContainers: [{ name: 'a', resources: { limits: [] } }] })],
    ['container a', pod({ containers: [{ name: 'a', resources: { requests: { cpu: '3' } } }] })],
    [
      'Parsing of nvidia.com/gpu request failed for value many of [p:d:tasks.one:v, container a]',
      pod({ containers: [{ name: 'a', resources: { requests: { 'nvidia.com/gpu': 'many' } } }] }),
    ],
    [
      'Parsing of ephemeral-storage limit failed for value true',
      pod({ containers: [{ name: 'a', resources: { limits: { 'ephemeral-storage': true } } }] }),
    ],
  ])('are refused with the text: %s', (text, template) => {
    expect(taskResourcesProblem(template, limits)).toContain(text);
  });
});

describe('the compile step of a task', () => {
  const errorsOf = (template: TaskTemplate) => {
    const result = compileTask(template);
    return 'errors' in result ? result.errors.map(({ code, text }) => `${code}: ${text}`) : [];
  };

  test('refuses names of containers that Kubernetes does not take', () => {
    expect(errorsOf(pod({ containers: [{ name: 'Main' }, { name: 'side-car' }, {}] }))).toHaveLength(2);
  });

  test('accepts a task without a target', () => {
    expect(errorsOf(withTarget(undefined))).toEqual([]);
  });
});

describe('a task that is launched by itself', () => {
  const { tasks } = registeredFixtures();

  test.each([...tasks.values()].map((task) => [task.template!.id!.name, task] as const))(
    '%s has a workflow around it that compiles',
    (name, task) => {
      const { template, expectedInputs } = singleTaskWorkflow(task.template!);
      const result = compileWorkflow({ template, subWorkflows: [], task: () => task, launchPlan: () => undefined });
      expect(result).toHaveProperty('closure');
      expect(template.id!.name).toBe(`.flytegen.${name}`);
      const behaviors = Object.values(expectedInputs.parameters).map(({ behavior }) => behavior.case);
      expect(new Set(behaviors).size).toBeLessThan(2);
    },
  );

  test('gives its node the last 63 characters of its name, without those that Kubernetes does not take, and three retries', () => {
    const name = `${'x'.repeat(40)}_packages.of-tasks.${'y'.repeat(40)}`;
    const { template } = singleTaskWorkflow(create(TaskTemplateSchema, { id: { ...id, name } }));
    expect(template.nodes[0]!.id).toBe(`xxxxpackagesof-tasks${'y'.repeat(40)}`);
    expect(template.nodes[0]!.metadata!.name).toBe(template.nodes[0]!.id);
    expect(template.nodes[0]!.metadata!.retries!.retries).toBe(3);
  });
});
