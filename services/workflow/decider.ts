import { create } from '@bufbuild/protobuf';

import { WorkflowRegisteredSchema } from '../../proto/gen/platformidl/eventlog/workflow_pb.js';
import type { Aggregate, Decider } from '../kernel/aggregate.js';
import { isSameDigest } from '../kernel/encoding/digest.js';
import type { RegisterWorkflow } from './commands.js';
import { WORKFLOW_CATEGORY, workflowCodec, type WorkflowEvent } from './events.js';
import { evolveWorkflow, initialWorkflow, type WorkflowState } from './state.js';

export type WorkflowRefusal = { readonly kind: 'exists-identical' | 'exists-different' };

const registered = ({
  id,
  compiled,
  digest,
  interface: typed,
  qualityOfService,
  description,
}: RegisterWorkflow): WorkflowEvent => ({
  type: 'WorkflowRegistered',
  data: create(WorkflowRegisteredSchema, {
    id,
    compiled: { content: { case: 'inline', value: compiled } },
    digest,
    ...(typed && { interface: typed }),
    ...(qualityOfService && { qualityOfService }),
    ...(description && { description }),
  }),
});

export const workflowDecider: Decider<WorkflowState, RegisterWorkflow, WorkflowEvent, WorkflowRefusal> = {
  initial: initialWorkflow,
  evolve: evolveWorkflow,
  decide: ({ digest }, command) => {
    if (digest === undefined) return { kind: 'accepted', events: [registered(command)] };
    const kind = isSameDigest(digest, command.digest) ? 'exists-identical' : 'exists-different';
    return { kind: 'refused', refusal: { kind } };
  },
};

const STATE_BYTES = 320;

export const workflowAggregate: Aggregate<WorkflowState, RegisterWorkflow, WorkflowEvent, WorkflowRefusal> = {
  category: WORKFLOW_CATEGORY,
  decider: workflowDecider,
  codec: workflowCodec,
  payloadScope: ({ id }) => `definitions/${id.project}`,
  isPermanentRefusal: () => true,
  sizeOf: () => STATE_BYTES,
  isOver: ({ digest }) => digest !== undefined,
};
