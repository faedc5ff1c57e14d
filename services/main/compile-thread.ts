import { parentPort, workerData } from 'node:worker_threads';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { DescriptionEntitySchema } from '../../proto/gen/platformidl/admin/description_entity_pb.js';
import { WorkflowCreateRequestSchema } from '../../proto/gen/platformidl/admin/workflow_pb.js';
import { QualityOfServiceSchema } from '../../proto/gen/platformidl/core/execution_pb.js';
import { TypedInterfaceSchema } from '../../proto/gen/platformidl/core/interface_pb.js';
import { metadataOf } from '../kernel/event.js';
import type { Folded } from '../kernel/sessions.js';
import type { StreamName } from '../kernel/stream.js';
import { launchPlanAggregate } from '../launch-plan/decider.js';
import type { LaunchPlanState } from '../launch-plan/state.js';
import { registeredDefinitions } from '../reference/definitions.js';
import { registrationOf } from '../workflow/registration/request.js';
import { openLog } from './log-source.js';
import type { CompileThreadData, LargeRegistration, LargeRequest } from './large-workflows.js';
import { openPayloads } from './payloads.js';
import { answerTo, type Asked } from './thread-caller.js';

// Compiles large workflows, one after another; what they are made of is read over connections of its own.
const { directory, location, source, limits } = workerData as CompileThreadData;
const log = await openLog(source);
const { decider, codec } = launchPlanAggregate;

const readLaunchPlan = async (stream: StreamName): Promise<Pick<Folded<LaunchPlanState>, 'state'>> => {
  let state = decider.initial();
  for await (const page of log.readStream(stream)) {
    for (const event of page)
      state = decider.evolve(state, codec.decode(event.type, event.data, metadataOf(event).schema));
  }
  return { state };
};

const payloads = await openPayloads({ directory, location });
const definitions = registeredDefinitions({ log, payloads, readLaunchPlan });

const registered = async ({ id, request }: LargeRequest): Promise<LargeRegistration> => {
  const message = fromBinary(WorkflowCreateRequestSchema, request);
  const registration = await registrationOf(id, message, definitions, limits);
  const { compiled, digest, interface: typed, qualityOfService, description } = registration;
  return {
    compiled,
    digest,
    interface: typed && toBinary(TypedInterfaceSchema, typed),
    qualityOfService: qualityOfService && toBinary(QualityOfServiceSchema, qualityOfService),
    description: description && toBinary(DescriptionEntitySchema, description),
  };
};

let last = Promise.resolve();
parentPort?.on('message', (asked: Asked<LargeRequest>) => {
  last = last.then(async () => parentPort?.postMessage(await answerTo(asked, registered)));
});
