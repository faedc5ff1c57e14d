import { clone, create, fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type TaskCreateRequest, TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import {
  type Container,
  K8sPodSchema,
  Resources_ResourceName as Resource,
  type Resources_ResourceEntry,
  Resources_ResourceEntrySchema,
  ResourcesSchema,
} from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../../support/requests/fixtures.js';
import { all, type Changed, expectRefused, type Row } from '../../support/requests/rows.js';

const { method } = AdminService;

const recordedTask = fromBinary(TaskCreateRequestSchema, fixtureBytes('01-hello/001-task.create_request.pb'));
let plane: ControlPlane;
/** Tasks named so far; makes each name unique. */
let count = 0;

beforeAll(async () => {
  plane = await startControlPlane({
    // Tasks of type `sealed` are allowed in production alone; these tests use development.
    FLIGHTLOG_REGISTRATION_TASK_TYPES: JSON.stringify({ sealed: [{ project: 'flytesnacks', domain: 'production' }] }),
    FLIGHTLOG_TASK_RESOURCES_LIMITS: '{cpu: "4", memory: 2Gi, gpu: "1"}',
  });
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

/** A copy of the recorded task, under a new name. */
const task = (): TaskCreateRequest => {
  const request = clone(TaskCreateRequestSchema, recordedTask);
  request.id!.name = `rows.task-${(count += 1)}`;
  return request;
};

const template = (request: TaskCreateRequest) => request.spec!.template!;
const containerOf = (request: TaskCreateRequest): Container => template(request).target.value as Container;

/** Quantities by the name of the resource, such as `{ CPU: '500m' }`. */
type Amounts = Readonly<Partial<Record<keyof typeof Resource, string>>>;

const entries = (amounts: Amounts): Resources_ResourceEntry[] =>
  Object.entries(amounts).map(([name, value]) =>
    create(Resources_ResourceEntrySchema, { name: Resource[name as keyof typeof Resource], value }),
  );

/** Sets the resources that the container requests, and its limits. */
const resources =
  (requested: Amounts, limited: Amounts = {}) =>
  (request: TaskCreateRequest): void => {
    const amounts = { requests: entries(requested), limits: entries(limited) };
    containerOf(request).resources = create(ResourcesSchema, amounts);
  };

/** Makes the task one that runs a pod; without a specification when undefined. */
const pod =
  (podSpec: object | undefined) =>
  (request: TaskCreateRequest): void => {
    const value = create(K8sPodSchema, podSpec && { podSpec: podSpec as never });
    template(request).target = { case: 'k8sPod', value };
  };

const noType: Changed<TaskCreateRequest> = (r) => void (template(r).type = '');
const sealed: Changed<TaskCreateRequest> = (r) => void (template(r).type = 'sealed');
const noMetadata: Changed<TaskCreateRequest> = (r) => {
  delete template(r).metadata;
};
const noRuntime: Changed<TaskCreateRequest> = (r) => void (template(r).metadata!.runtime!.version = '');
const noInterface: Changed<TaskCreateRequest> = (r) => {
  delete template(r).interface;
};
const noImage: Changed<TaskCreateRequest> = (r) => void (containerOf(r).image = '');
const noCommand: Changed<TaskCreateRequest> = (r) => void Object.assign(containerOf(r), { args: [], command: [] });
const unknownProject: Changed<TaskCreateRequest> = (r) => void (r.id!.project = 'nowhere');
const noTaskSpec: Changed<TaskCreateRequest> = (r) => {
  delete r.spec;
};
const noTaskName: Changed<TaskCreateRequest> = (r) => void (r.id!.name = '');
const cpuTwice: Changed<TaskCreateRequest> = (r) => {
  resources({ CPU: '1' })(r);
  containerOf(r).resources!.requests.push(...entries({ CPU: '2' }));
};
const otherImage: Changed<TaskCreateRequest> = (r) => void (containerOf(r).image = 'example.org/another:1');
const requestAboveLimit = resources({ CPU: '2' }, { CPU: '1' });

/** Invalid requests; a number is the step at which the RPC checks the rule. */
const TASKS: readonly Row<typeof TaskCreateRequestSchema>[] = [
  {
    rule: '1: an id',
    change: (r) => {
      delete r.id;
    },
    says: 'missing id',
  },
  {
    rule: '1: an id of resource type TASK',
    change: (r) => void (r.id!.resourceType = ResourceType.WORKFLOW),
    says: 'resource type',
  },
  {
    rule: '1: a resource type in the id',
    change: (r) => void (r.id!.resourceType = ResourceType.UNSPECIFIED),
    says: 'resource type',
  },
  { rule: '1: a project in the id', change: (r) => void (r.id!.project = ''), says: 'missing project' },
  { rule: '1: a domain in the id', change: (r) => void (r.id!.domain = ''), says: 'missing domain' },
  { rule: '1: a name in the id', change: noTaskName, says: 'missing name' },
  { rule: '1: a version in the id', change: (r) => void (r.id!.version = ''), says: 'missing version' },
  { rule: '2: a known project', change: unknownProject, says: 'nowhere' },
  {
    rule: '2: a known domain',
    change: (r) => void (r.id!.domain = 'moon'),
    says: 'domain [moon] is unrecognized by system',
  },
  { rule: '3: a spec', change: noTaskSpec, says: 'missing spec' },
  {
    rule: '3: a template in the spec',
    change: (r) => {
      delete r.spec!.template;
    },
    says: 'missing spec.template',
  },
  { rule: '4: a type', change: noType, says: 'missing type' },
  {
    rule: '5: a type that is allowed in the project and domain',
    change: sealed,
    says: 'must be whitelisted before use',
  },
  { rule: '6: metadata', change: noMetadata, says: 'missing metadata' },
  { rule: '7: a version of the runtime', change: noRuntime, says: 'missing runtime version' },
  { rule: '8: an interface', change: noInterface, says: 'missing typed interface' },
  { rule: '9: an image', change: noImage, says: 'missing image' },
  { rule: '10: each resource once', change: cpuTwice, says: "can't specify cpu" },
  {
    rule: '11: amounts of resources that are quantities',
    change: resources({ MEMORY: 'much' }),
    says: 'failed for value much',
  },
  { rule: '12: a whole number of GPUs', change: resources({ GPU: '500m' }), says: 'must be a whole number' },
  {
    rule: '13: a request of at most the limit of the task',
    change: requestAboveLimit,
    says: 'Requested cpu default [2]',
  },
  {
    rule: '13: a limit of at most the limit of the platform',
    change: resources({ CPU: '1' }, { CPU: '5' }),
    says: 'platform configuration [4]',
  },
  {
    rule: '13: a request of at most the limit of the platform',
    change: resources({ MEMORY: '3Gi' }),
    says: 'platform configuration [2Gi]',
  },
  {
    rule: '14: a request of as many GPUs as the limit',
    change: resources({ GPU: '0' }, { GPU: '1' }),
    says: 'must equal the limit',
  },
  {
    rule: '14: at most as many GPUs as the limit of the platform',
    change: resources({ GPU: '2' }),
    says: 'platform configuration [1]',
  },
  { rule: '15: a specification of the pod', change: pod(undefined), says: 'invalid TaskSpecification' },
  {
    rule: '15: a valid specification of the pod',
    change: pod({ containers: 'none' }),
    says: 'invalid TaskSpecification',
  },
  { rule: 'in compilation: a command or arguments', change: noCommand, says: 'task failed compilation with' },
];

/** Requests that break two rules; the refusal is that of the rule that is checked first. */
const ORDER: typeof TASKS = [
  { rule: '1 before 2', change: all(noTaskName, unknownProject), says: 'missing name' },
  { rule: '2 before 3', change: all(unknownProject, noTaskSpec), says: 'nowhere' },
  { rule: '4 before 6', change: all(noType, noMetadata), says: 'missing type' },
  { rule: '5 before 6', change: all(sealed, noMetadata), says: 'whitelisted' },
  { rule: '6 before 8', change: all(noMetadata, noInterface), says: 'missing metadata' },
  { rule: '7 before 8', change: all(noRuntime, noInterface), says: 'missing runtime version' },
  { rule: '8 before 9', change: all(noInterface, noImage), says: 'missing typed interface' },
  { rule: '9 before 10', change: all(cpuTwice, noImage), says: 'missing image' },
  { rule: '13 before compilation', change: all(noCommand, requestAboveLimit), says: 'Requested cpu default [2]' },
];

describe.each(['grpc', 'rest'] as const)('over %s', (transport) => {
  describe('CreateTask requires', () => {
    it.each(TASKS)('$rule', async (row) => {
      await expectRefused(plane, transport, [method.createTask, task], row);
    });
  });

  describe('CreateTask checks the numbered rules in order:', () => {
    it.each(ORDER)('$rule', async (row) => {
      await expectRefused(plane, transport, [method.createTask, task], row);
    });
  });

  it('a version that exists is ALREADY_EXISTS, and the text says whether it is the same', async () => {
    const request = task();
    await plane[transport].call(method.createTask, request);
    const same = { change: () => undefined, code: 'ALREADY_EXISTS', says: 'identical structure already exists' };
    await expectRefused(plane, transport, [method.createTask, () => request], same);
    const other = { ...same, change: otherImage, says: 'different structure already exists' };
    await expectRefused(plane, transport, [method.createTask, () => clone(TaskCreateRequestSchema, request)], other);
  });
});
