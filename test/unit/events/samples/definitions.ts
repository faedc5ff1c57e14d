import type { JsonObject } from '@bufbuild/protobuf';
import { LaunchPlanSchema, LaunchPlanSpecSchema } from '../../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import {
  CompiledTaskSchema,
  CompiledWorkflowClosureSchema,
} from '../../../../proto/gen/platformidl/core/compiler_pb.js';
import { attributesStream } from '../../../../services/attributes/events.js';
import { engineSessionStream } from '../../../../services/engine-session/events.js';
import { scheduleStream } from '../../../../services/schedule/events.js';
import { slotsStream } from '../../../../services/launch-plan-slots/events.js';
import { launchPlanStream } from '../../../../services/launch-plan/events.js';
import { LOG_FORMAT_STREAM } from '../../../../services/log-format/events.js';
import { NEWEST_FORMAT } from '../../../../services/kernel/log-format.js';
import { namedEntityStream } from '../../../../services/named-entity/events.js';
import { notificationStream } from '../../../../services/notification/events.js';
import { projectStream } from '../../../../services/project/events.js';
import { RETRIES_STREAM } from '../../../../services/parked-stream/events.js';
import { deadLetterStream } from '../../../../services/dead-letter/events.js';
import { roleBindingStream } from '../../../../services/role-binding/events.js';
import { taskStream } from '../../../../services/task/events.js';
import { workflowStream } from '../../../../services/workflow/events.js';
import { content, digest, PLACE, type Sample } from './sample.js';

const HELLO = { ...PLACE, name: 'hello.hello' } as const;

export const taskId = { resourceType: 'TASK', ...PLACE, name: 'hello.greet', version: 'v1' } as const;
export const workflowId = { resourceType: 'WORKFLOW', ...HELLO, version: 'v1' } as const;
export const launchPlanId = { resourceType: 'LAUNCH_PLAN', ...HELLO, version: 'v1' } as const;

const TEXT = { simple: 'STRING' };
const INPUTS = { variables: { name: { type: TEXT, description: 'Who is greeted.' } } };
const OUTPUTS = { variables: { o0: { type: TEXT, description: 'o0' } } };
const INTERFACE = { inputs: INPUTS, outputs: OUTPUTS };

/** A literal of a text. */
export const text = (stringValue: string): JsonObject => ({ scalar: { primitive: { stringValue } } });

const task = {
  template: {
    id: taskId,
    type: 'python-task',
    metadata: {
      runtime: { type: 'FLYTE_SDK', version: '1.16.0', flavor: 'python' },
      timeout: '600s',
      retries: { retries: 2 },
      discoverable: true,
      discoveryVersion: '1',
    },
    interface: INTERFACE,
    container: {
      image: 'registry.example.org/hello:v1',
      args: ['pyflyte-execute', '--inputs', '{{.input}}', '--output-prefix', '{{.outputPrefix}}'],
      resources: { requests: [{ name: 'CPU', value: '500m' }], limits: [{ name: 'MEMORY', value: '1Gi' }] },
      env: [{ key: 'GREETING', value: 'hello' }],
    },
  },
};

const bound = (node: string, variable: string): JsonObject => ({ promise: { nodeId: node, var: variable } });

const closure = {
  primary: {
    template: {
      id: workflowId,
      metadata: { onFailure: 'FAIL_IMMEDIATELY' },
      interface: INTERFACE,
      nodes: [
        { id: 'start-node' },
        {
          id: 'n0',
          metadata: { name: 'greet', retries: { retries: 2 } },
          inputs: [{ var: 'name', binding: bound('start-node', 'name') }],
          taskNode: { referenceId: taskId },
        },
        { id: 'end-node', inputs: [{ var: 'o0', binding: bound('n0', 'o0') }] },
      ],
      outputs: [{ var: 'o0', binding: bound('n0', 'o0') }],
    },
    connections: {
      downstream: { 'start-node': { ids: ['n0'] }, n0: { ids: ['end-node'] } },
      upstream: { n0: { ids: ['start-node'] }, 'end-node': { ids: ['n0'] } },
    },
  },
  tasks: [task],
};

const schedule = { cronSchedule: { schedule: '0 6 * * *' }, kickoffTimeInputArg: '' };
export const notifications = [{ phases: ['FAILED'], email: { recipientsEmail: ['ada@example.org'] } }];
const expectedInputs = {
  parameters: { name: { var: INPUTS.variables.name, default: text('world') } },
};

const planSpec = {
  workflowId,
  entityMetadata: { schedule, notifications },
  defaultInputs: expectedInputs,
  labels: { values: { team: 'greeters' } },
  maxParallelism: 25,
  concurrencyPolicy: { max: 2, behavior: 'CONCURRENCY_LIMIT_BEHAVIOR_SKIP' },
};

const described = (id: JsonObject, shortDescription: string): JsonObject => ({
  id,
  shortDescription,
  longDescription: { value: 'Says hello to whoever is named.', format: 'DESCRIPTION_FORMAT_MARKDOWN' },
  sourceCode: { link: 'https://git.example.org/hello/blob/v1/hello.py' },
});

const execution = { ...PLACE, name: 'a1b2' };
const attempt = '7d3f6f0e-0f2a-4c38-9d5e-6a7c1b2d3e4f';
const notification = {
  id: '6f0e7d3f0f2a4c389d5e6a7c1b2d3e4f',
  execution,
  revision: '7',
  phase: 'FAILED',
  channel: 'mail',
  recipient: 'team@example.com',
};
const project = (description: string): JsonObject => ({
  project: { id: 'flytesnacks', name: 'Flyte snacks', description, labels: { values: { team: 'greeters' } } },
});
const scope = { ...PLACE, workflow: 'hello.hello' };

const ENGINE = { group: 'default', engine: 'engine-0', session: '0f1d1a52-7c39-4b0e-8d5b-6f1d6a3b2c4d' };

/** Samples of all streams except those of executions. */
export const definitionSamples: readonly Sample[] = [
  {
    type: 'TaskRegistered',
    stream: taskStream(taskId),
    data: {
      id: taskId,
      compiled: content(CompiledTaskSchema, task),
      digest: digest(CompiledTaskSchema, task),
      taskType: 'python-task',
      description: described(taskId, 'Greets somebody.'),
    },
  },
  {
    type: 'WorkflowRegistered',
    stream: workflowStream(workflowId),
    data: {
      id: workflowId,
      compiled: content(CompiledWorkflowClosureSchema, closure),
      digest: digest(CompiledWorkflowClosureSchema, closure),
      interface: INTERFACE,
      description: described(workflowId, 'One greeting.'),
      qualityOfService: { tier: 'HIGH' },
    },
  },
  {
    type: 'LaunchPlanRegistered',
    stream: launchPlanStream(launchPlanId),
    data: {
      id: launchPlanId,
      spec: content(LaunchPlanSpecSchema, planSpec),
      expectedInputs,
      expectedOutputs: OUTPUTS,
      digest: digest(LaunchPlanSchema, { id: launchPlanId, spec: planSpec }),
      limitsConcurrency: true,
    },
  },
  {
    type: 'LaunchPlanActivated',
    stream: launchPlanStream(launchPlanId),
    data: { id: launchPlanId, deactivatedVersion: 'v0', schedule },
  },
  { type: 'LaunchPlanDeactivated', stream: launchPlanStream(launchPlanId), data: { id: launchPlanId } },
  {
    type: 'SlotTaken',
    stream: slotsStream(HELLO),
    data: { execution, attempt, takenAt: '2026-01-01T00:00:00Z' },
  },
  { type: 'SlotReleased', stream: slotsStream(HELLO), data: { execution, attempt } },
  {
    type: 'NotificationStarted',
    stream: notificationStream(execution),
    data: {
      message: notification,
      attempt,
      startedAt: '2026-01-01T00:00:00Z',
      digest: [{ ...notification, id: '0e', execution: { ...execution, name: 'other' } }],
    },
  },
  {
    type: 'NotificationSent',
    stream: notificationStream(execution),
    data: { messageId: notification.id, attempt, answer: '250 2.0.0 Ok: queued', sentAt: '2026-01-01T00:00:01Z' },
  },
  {
    type: 'NotificationFailed',
    stream: notificationStream(execution),
    data: {
      messageId: notification.id,
      attempt,
      reason: '451 4.3.0 try again later',
      failedAt: '2026-01-01T00:00:01Z',
      nextAttemptAt: '2026-01-01T00:00:31Z',
    },
  },
  {
    type: 'NotificationGivenUp',
    stream: notificationStream(execution),
    data: { message: notification, reason: '550 5.1.1 no such user', givenUpAt: '2026-01-01T00:00:01Z' },
  },
  {
    type: 'NotificationDigested',
    stream: notificationStream(execution),
    data: {
      message: notification,
      digestId: '0f',
      digestExecution: { ...execution, name: 'other' },
      digestedAt: '2026-01-01T00:01:00Z',
    },
  },
  {
    type: 'NotificationResendRequested',
    stream: notificationStream(execution),
    data: { message: notification, principal: 'operator@example.com', requestedAt: '2026-01-01T01:00:00Z' },
  },
  {
    type: 'ScheduleTicksDecided',
    stream: scheduleStream(HELLO),
    data: {
      until: '2026-01-01T00:00:00Z',
      fire: [{ at: '2026-01-01T00:00:00Z', version: 'v1', principal: 'ada' }],
      skipped: [
        { version: 'v1', reason: 'too-old', count: '2', first: '2025-12-30T00:00:00Z', last: '2025-12-31T00:00:00Z' },
      ],
    },
  },
  {
    type: 'ScheduleTickFired',
    stream: scheduleStream(HELLO),
    data: { at: '2026-01-01T00:00:00Z', version: 'v1', execution },
  },
  {
    type: 'ScheduleTickSkipped',
    stream: scheduleStream(HELLO),
    data: { at: '2026-01-02T00:00:00Z', version: 'v1', reason: 'overlap' },
  },
  {
    type: 'ScheduleTickFailed',
    stream: scheduleStream(HELLO),
    data: { at: '2026-01-03T00:00:00Z', version: 'v1', reason: 'the launch plan is not there' },
  },
  { type: 'ScheduleTickSkipRequested', stream: scheduleStream(HELLO), data: { at: '2026-01-06T00:00:00Z' } },
  { type: 'SchedulePaused', stream: scheduleStream(HELLO), data: { at: '2026-01-04T00:00:00Z' } },
  { type: 'ScheduleResumed', stream: scheduleStream(HELLO), data: { at: '2026-01-05T00:00:00Z' } },
  { type: 'EngineSessionOpened', stream: engineSessionStream(ENGINE), data: { ...ENGINE } },
  { type: 'EngineSessionRenewed', stream: engineSessionStream(ENGINE), data: { session: ENGINE.session } },
  {
    type: 'EngineSessionEnded',
    stream: engineSessionStream(ENGINE),
    data: { session: ENGINE.session, cause: 'no heartbeat for 30 s' },
  },
  { type: 'ProjectRegistered', stream: projectStream('flytesnacks'), data: project('Examples') },
  { type: 'ProjectUpdated', stream: projectStream('flytesnacks'), data: project('Examples, and what was tried') },
  {
    type: 'AttributesUpdated',
    stream: attributesStream('flytesnacks'),
    data: {
      scope,
      attributes: { taskResourceAttributes: { defaults: { cpu: '1', memory: '2Gi' }, limits: { cpu: '4' } } },
    },
  },
  {
    type: 'AttributesDeleted',
    stream: attributesStream('flytesnacks'),
    data: { scope, resourceType: 'EXECUTION_QUEUE' },
  },
  {
    type: 'NamedEntityUpdated',
    stream: namedEntityStream({ kind: 'WORKFLOW', ...HELLO }),
    data: {
      resourceType: 'WORKFLOW',
      id: HELLO,
      metadata: { description: 'The first workflow to try.', state: 'NAMED_ENTITY_ACTIVE' },
    },
  },
  {
    type: 'RoleGranted',
    stream: roleBindingStream('ada'),
    data: { binding: { principal: 'ada', role: 'contributor', project: 'flytesnacks', domain: 'development' } },
  },
  {
    type: 'RoleRevoked',
    stream: roleBindingStream('ada'),
    data: { binding: { principal: 'ada', role: 'contributor', project: 'flytesnacks', domain: 'development' } },
  },
  {
    type: 'DeadLetterRecorded',
    stream: deadLetterStream('release-slots'),
    data: {
      letter: {
        reactor: 'release-slots',
        position: '1042',
        stream: 'launchPlanSlots-flytesnacks:development:hello.nightly',
        revision: '3',
        reason: 'stream execution-flytesnacks:development:a1b2 is parked at position 1044: unknown event',
        since: '2026-03-02T09:58:16Z',
        attempts: 1,
        parked: true,
      },
    },
  },
  ...(['DeadLetterRetryRequested', 'DeadLetterSkipped', 'DeadLetterSettled'] as const).map((type) => ({
    type,
    stream: deadLetterStream('release-slots'),
    data: { reactor: 'release-slots', position: '1042' },
  })),
  {
    type: 'ParkedStreamRetryRequested',
    stream: RETRIES_STREAM,
    data: { stream: 'execution-flytesnacks:development:a1b2' },
  },
  { type: 'LogFormatSet', stream: LOG_FORMAT_STREAM, data: { format: NEWEST_FORMAT } },
];
