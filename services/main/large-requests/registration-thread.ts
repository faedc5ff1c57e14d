import { workerData } from 'node:worker_threads';
import { LaunchPlanCreateRequestSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { WorkflowCreateRequestSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { decode, decodeStrictly } from '../../gateway/decode.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import { launchPlanAggregate } from '../../launch-plan/decider.js';
import { launchPlanRegistration as launchPlanFrom } from '../../launch-plan/registration/request.js';
import { type DefinitionsOptions, registeredDefinitions } from '../../reference/definitions.js';
import { taskRegistration as taskFrom } from '../../task/registration/task.js';
import { workflowRegistration as workflowFrom } from '../../workflow/registration/request.js';
import type { LargeRegistration, RegistrationThreadData } from './large-registrations.js';
import type { LargeRequest } from './large-work.js';
import { openLog } from '../log/log-source.js';
import { openPayloads } from '../payloads.js';
import { answerAll } from '../threads/thread-caller.js';

// This thread compiles large definitions. It reads the definitions that they refer to from the log and the payload
// store, which it opens itself, because connections to a store belong to one thread.
const { directory, location, source, taskTypes, workflowLimits } = workerData as RegistrationThreadData;
const log = await openLog(source);
const { decider, codec } = launchPlanAggregate;

const readLaunchPlan: DefinitionsOptions['readLaunchPlan'] = async (stream, select) => {
  let state = decider.initial();
  for await (const page of log.readStream(stream)) {
    for (const event of page) state = decider.evolve(state, decodeEvent(codec, event));
  }
  return select({ state });
};

const payloads = await openPayloads({ directory, location });
const definitions = registeredDefinitions({ log, payloads, readLaunchPlan });

answerAll(({ id, request, ...registration }: LargeRequest<LargeRegistration>) => {
  switch (registration.kind) {
    case 'task':
      return taskFrom(id, decodeStrictly(TaskCreateRequestSchema, request), { taskTypes, limits: registration.limits });
    case 'workflow':
      // Its bytes have been checked already.
      return workflowFrom(id, decode(WorkflowCreateRequestSchema, request), definitions, workflowLimits);
    case 'launch-plan':
      return launchPlanFrom(id, decodeStrictly(LaunchPlanCreateRequestSchema, request), registration.workflow);
  }
});
