import { create, toBinary } from '@bufbuild/protobuf';

import {
  type CreateWorkflowFailureReason,
  CreateWorkflowFailureReasonSchema,
  type WorkflowCreateRequest,
  WorkflowCreateRequestSchema,
  WorkflowCreateResponseSchema,
} from '../../proto/gen/platformidl/admin/workflow_pb.js';
import { IdentifierSchema } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { contextOf } from '../kernel/command-context.js';
import { sha256Hex } from '../kernel/hash.js';
import { type Version, versionOf } from '../kernel/identifier.js';
import { type Lru, lru } from '../kernel/lru.js';
import { type Call, missing, route, type Route, RpcError } from '../kernel/rpc.js';
import type { Sessions } from '../kernel/sessions.js';
import { workflowAggregate, type WorkflowRefusal } from './decider.js';
import { workflowStream } from './events.js';
import type { Projects, Requirements } from './ports.js';
import { compiledFrom, type WorkflowLimits } from './registration/compile.js';

export type WorkflowServices = {
  readonly sessions: Sessions;
  readonly projects: Projects;
  readonly requirements: Requirements;
  readonly limits: WorkflowLimits;
};

/** How a request that came before is refused when it comes again, by the hash of its bytes. */
type Answered = Lru<string, WorkflowRefusal['kind']>;

/** Clients repeat what fails without a pause; the answer for a version that exists never changes. */
const REMEMBERED = 4_096;

type Reason = NonNullable<CreateWorkflowFailureReason['reason']['case']>;

const exists = (version: Version, reason: Reason, text: string): RpcError => {
  const id = create(IdentifierSchema, version);
  const message = create(CreateWorkflowFailureReasonSchema, { reason: { case: reason, value: { id } } });
  return new RpcError('ALREADY_EXISTS', text, [{ schema: CreateWorkflowFailureReasonSchema, message }]);
};

const refusals: Readonly<Record<WorkflowRefusal['kind'], (id: Version) => RpcError>> = {
  'exists-identical': (id) =>
    exists(id, 'existsIdenticalStructure', 'workflow with identical structure already exists'),
  'exists-different': (id) =>
    exists(
      id,
      'existsDifferentStructure',
      `${id.name} workflow with different structure already exists with the same id: register it under a new version`,
    ),
};

const createWorkflow = async (
  services: WorkflowServices,
  answered: Answered,
  { id: sent, spec }: WorkflowCreateRequest,
  call: Call,
): Promise<Version> => {
  const id = versionOf('WORKFLOW', sent);
  const barred = await services.projects.check(id.project, id.domain);
  if (barred !== undefined) throw barred;
  if (spec?.template === undefined) throw missing('spec');
  const request = sha256Hex(toBinary(WorkflowCreateRequestSchema, create(WorkflowCreateRequestSchema, { id, spec })));
  const before = answered.get(request);
  if (before !== undefined) throw refusals[before](id);
  const source = { template: spec.template, subWorkflows: spec.subWorkflows };
  const compiled = await compiledFrom(id, source, services.requirements, services.limits);
  const command = { ...compiled, description: spec.description };
  const outcome = await services.sessions.handle(workflowAggregate, workflowStream(id), command, contextOf(call));
  answered.set(request, outcome.kind === 'refused' ? outcome.refusal.kind : 'exists-identical');
  if (outcome.kind === 'refused') throw refusals[outcome.refusal.kind](id);
  call.answeredAt(outcome.position);
  return id;
};

export const workflowRoutes = (services: WorkflowServices): readonly Route[] => {
  const answered: Answered = lru(REMEMBERED);
  return [
    route(AdminService.method.createWorkflow, async (request, call) =>
      create(WorkflowCreateResponseSchema, { id: await createWorkflow(services, answered, request, call) }),
    ),
  ];
};
