import { create, fromBinary } from '@bufbuild/protobuf';
import {
  type CreateWorkflowFailureReason,
  CreateWorkflowFailureReasonSchema,
  WorkflowCreateRequestSchema,
  WorkflowCreateResponseSchema,
} from '../../proto/gen/platformidl/admin/workflow_pb.js';
import { IdentifierSchema } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { contextOf } from '../kernel/command-context.js';
import { sha256Hex } from '../kernel/encoding/hash.js';
import { type Version, newVersionOf, versionText } from '../kernel/identifier.js';
import { type Lru, lru } from '../kernel/lru.js';
import { bytesRoute, type Call, type Route, RpcError } from '../kernel/rpc.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import { workflowAggregate, type WorkflowRefusal } from './decider.js';
import { workflowStream } from './events.js';
import type { RegisterWorkflow } from './commands.js';
import type { LargeWorkflows, Projects, Requirements } from './ports.js';
import type { WorkflowLimits } from './registration/compile.js';
import { assertReferencesReadable, workflowIdIn, workflowRegistration } from './registration/request.js';

export type WorkflowServices = {
  readonly sessions: Sessions;
  readonly projects: Projects;
  readonly requirements: Requirements;
  readonly largeWorkflows: LargeWorkflows;
  readonly limits: WorkflowLimits;
};

/** The refusals of requests that are sent again, by the hash of the request's bytes. */
type RefusalCache = Lru<string, { readonly kind: WorkflowRefusal['kind']; readonly position: bigint }>;

/**
 * The number of cached refusals. They are cached because clients repeat failed requests without a pause, and the answer
 * for an existing version never changes.
 */
const MAX_CACHED_REFUSALS = 4_096;

type Reason = NonNullable<CreateWorkflowFailureReason['reason']['case']>;

const exists = (version: Version, reason: Reason, text: string): RpcError => {
  const id = create(IdentifierSchema, version);
  const message = create(CreateWorkflowFailureReasonSchema, { reason: { case: reason, value: { id } } });
  return new RpcError('ALREADY_EXISTS', text, [{ schema: CreateWorkflowFailureReasonSchema, message }]);
};

const refusals: Readonly<Record<WorkflowRefusal['kind'], (id: Version) => RpcError>> = {
  'exists-identical': (id) =>
    exists(id, 'existsIdenticalStructure', `workflow with identical structure already exists: ${versionText(id)}`),
  'exists-different': (id) =>
    exists(
      id,
      'existsDifferentStructure',
      `${id.name} workflow with different structure already exists with the same id: register it under a new version`,
    ),
};

/**
 * Requests above this size, in bytes, are compiled on a worker thread: on the main thread one would delay other calls
 * by tens of milliseconds.
 */
const LARGE = 32 * 1024;

const registration = (
  { largeWorkflows, requirements, limits }: WorkflowServices,
  id: Version,
  request: Uint8Array,
): Promise<RegisterWorkflow> =>
  request.length > LARGE
    ? largeWorkflows.registrationOf(id, request)
    : workflowRegistration(id, fromBinary(WorkflowCreateRequestSchema, request), requirements, limits);

const createWorkflow = async (
  services: WorkflowServices,
  answered: RefusalCache,
  request: Uint8Array,
  call: Call,
): Promise<Version> => {
  const id = await newVersionOf('WORKFLOW', workflowIdIn(request), (version) =>
    services.sessions.read(workflowAggregate, workflowStream(version), ({ revision }) => revision >= 0n),
  );
  const projectError = await services.projects.check(id.project, id.domain);
  if (projectError !== undefined) throw projectError;
  assertReferencesReadable(request, call);
  const hash = sha256Hex(request);
  const cachedRefusal = answered.get(hash);
  // A request with an idempotency key gets its first answer again, not a refusal.
  if (cachedRefusal !== undefined && call.idempotency === undefined) {
    call.answeredAt(cachedRefusal.position);
    throw refusals[cachedRefusal.kind](id);
  }
  const command = await registration(services, id, request);
  const outcome = await services.sessions.handle(workflowAggregate, workflowStream(id), command, contextOf(call));
  const { position } = outcome;
  answered.set(hash, { kind: outcome.kind === 'refused' ? outcome.refusal.kind : 'exists-identical', position });
  call.answeredAt(position);
  if (outcome.kind === 'refused') throw refusals[outcome.refusal.kind](id);
  return id;
};

export const workflowRoutes = (services: WorkflowServices): readonly Route[] => {
  const answered: RefusalCache = lru(MAX_CACHED_REFUSALS);
  return [
    bytesRoute(AdminService.method.createWorkflow, async (request, call) =>
      create(WorkflowCreateResponseSchema, { id: await createWorkflow(services, answered, request, call) }),
    ),
  ];
};
