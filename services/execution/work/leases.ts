import { randomUUID } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import { timestampNow } from '@bufbuild/protobuf/wkt';
import { WorkflowExecutionEventRequestSchema } from '../../../proto/gen/platformidl/admin/event_pb.js';
import type { CompiledWorkflowClosure } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import {
  type ExecutionError,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { WorkAbort, WorkLaunch } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { lru } from '../../kernel/lru.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { bytesOf, type PayloadStore } from '../../kernel/ports/payload-store.js';
import type { Outcome, Sessions } from '../../kernel/ports/sessions.js';
import { missing } from '../../kernel/rpc.js';
import { type ExecutionAggregate } from '../aggregate.js';
import type { ExecutionCommand, Leaseholder } from '../commands.js';
import { type Creation, readCreation } from '../creation.js';
import { envelopeScan } from '../wire/envelope-scan.js';
import type { ExecutionRefusal } from '../refusals.js';
import type { ExecutionState } from '../state.js';
import type { Envelope } from '../wire/envelope.js';
import { abortOf, endedPhase, launchMessage, launchState, type SizedClosure, sizedClosure } from './launch-message.js';
import { executionStream, type ExecutionId } from '../../kernel/execution-id.js';

export type LeaseServices = {
  readonly sessions: Sessions;
  readonly aggregate: ExecutionAggregate;
  readonly log: Pick<EventLog, 'readStream'>;
  readonly payloads: PayloadStore;
  /** `undefined` for a version that is not registered. */
  readonly compiledWorkflow: (id: Identifier) => Promise<CompiledWorkflowClosure | undefined>;
  /** The largest output_data in an event, in bytes. */
  readonly maxOutputBytes: number;
  /** The time limit of an execution, in milliseconds; 0 is none. */
  readonly timeoutMs: number;
};

type Lease = { readonly id: ExecutionId; readonly number: number; readonly session: string };

/** The outcome of an attempt to lease: the number of the lease, or the kind of the refusal. */
export type LeaseOutcome =
  | { readonly kind: 'leased'; readonly number: number; readonly position: bigint }
  | { readonly kind: 'refused'; readonly reason: string };

/** The size of the cache of decoded workflows in memory, in bytes. */
const CACHED_BYTES = 64 * 1024 * 1024;

const creationOf = async ({ log }: LeaseServices, id: ExecutionId): Promise<Creation> => {
  const creation = await readCreation(log, id);
  if (creation === undefined) throw missing('the creation of the execution');
  return creation;
};

const failedRequest = (id: ExecutionId, producerId: string, error: ExecutionError): Uint8Array => {
  const outputResult = { case: 'error', value: error } as const;
  const event = { executionId: id, producerId, phase: Phase.FAILED, occurredAt: timestampNow(), outputResult };
  return toBinary(WorkflowExecutionEventRequestSchema, create(WorkflowExecutionEventRequestSchema, { event }));
};

/** Decides leases on the streams of executions, and composes launches. */
export class ExecutionLeases {
  readonly #services: LeaseServices;
  readonly #closures = lru<string, SizedClosure>(CACHED_BYTES);
  readonly #scan: (request: Uint8Array) => Envelope;

  constructor(services: LeaseServices) {
    this.#services = services;
    this.#scan = envelopeScan('workflow', services.maxOutputBytes);
  }

  async lease(
    id: ExecutionId,
    to: Leaseholder,
    terms: { readonly untilMs: number; readonly over: number | undefined },
  ): Promise<LeaseOutcome> {
    const { sessions, aggregate } = this.#services;
    const outcome = await this.#handle(id, { type: 'LeaseWork', id, to, ...terms }, to.engine);
    if (outcome.kind === 'refused') return { kind: 'refused', reason: outcome.refusal.kind };
    const number = await sessions.readKnown(aggregate, executionStream(id), ({ state: { lease } }) =>
      lease?.session === to.session ? lease.number : undefined,
    );
    if (number === undefined) return { kind: 'refused', reason: 'lease-lost' };
    return { kind: 'leased', number, position: outcome.position };
  }

  async giveBack({ id, number, session }: Lease, reason: string): Promise<boolean> {
    return (await this.#handle(id, { type: 'ReturnWork', id, number, session, reason }, '')).kind === 'accepted';
  }

  async fail({ id }: Lease, producerId: string, error: ExecutionError): Promise<boolean> {
    const envelope = this.#scan(failedRequest(id, producerId, error));
    return (await this.#handle(id, { type: 'ReportPhase', id, envelope, isChildKnown: true }, '')).kind === 'accepted';
  }

  async held(
    lease: Lease,
  ): Promise<{ readonly abort: WorkAbort | undefined; readonly ended: Phase | undefined } | undefined> {
    const found = await this.#whileHeld(lease, (state) => ({ abort: abortOf(state), ended: endedPhase(state) }));
    return found?.answer;
  }

  async launch(lease: Lease, maxInlineBytes: number): Promise<WorkLaunch | undefined> {
    const { payloads, timeoutMs } = this.#services;
    const { created, atMs: createdAtMs } = await creationOf(this.#services, lease.id);
    const workflow = await this.#closureOf(created.workflowId);
    const inputs = await bytesOf(created.inputs ?? { content: { case: undefined } }, payloads);
    const found = await this.#whileHeld(lease, (state) =>
      endedPhase(state) === undefined ? launchState(state) : undefined,
    );
    const facts = { id: lease.id, created, createdAtMs, timeoutMs, workflow, inputs, maxInlineBytes };
    return found?.answer && launchMessage(facts, found.answer);
  }

  #handle(id: ExecutionId, command: ExecutionCommand, actor: string): Promise<Outcome<ExecutionRefusal>> {
    const { sessions, aggregate } = this.#services;
    return sessions.handle(aggregate, executionStream(id), command, { actor, commandId: randomUUID() });
  }

  /** Reads from the state of an execution if the session still holds the lease; otherwise `undefined`. */
  #whileHeld<Answer>(
    { id, number, session }: Lease,
    select: (state: ExecutionState) => Answer,
  ): Promise<{ readonly answer: Answer } | undefined> {
    const { sessions, aggregate } = this.#services;
    return sessions.read(aggregate, executionStream(id), ({ state }) =>
      state.lease?.isHeld === true && state.lease.number === number && state.lease.session === session
        ? { answer: select(state) }
        : undefined,
    );
  }

  async #closureOf(id: Identifier | undefined): Promise<SizedClosure> {
    if (id === undefined) throw missing('workflow_id');
    const key = JSON.stringify([id.project, id.domain, id.name, id.version]);
    const known = this.#closures.get(key);
    if (known) return known;
    const closure = await this.#services.compiledWorkflow(id);
    if (closure === undefined) throw missing('the compiled workflow');
    const sized = sizedClosure(closure);
    this.#closures.set(key, sized, sized.memoryBytes);
    return sized;
  }
}
