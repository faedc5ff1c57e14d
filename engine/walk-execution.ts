import {
  type Execution,
  ExecutionMetadata_ExecutionMode as Mode,
} from '../proto/gen/platformidl/admin/execution_pb.js';
import { type CompiledWorkflowClosure } from '../proto/gen/platformidl/core/compiler_pb.js';
import {
  ExecutionError_ErrorKind as ErrorKind,
  WorkflowExecution_Phase as Phase,
} from '../proto/gen/platformidl/core/execution_pb.js';
import { type Identifier } from '../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { EngineStopped } from './call-error.js';
import { type InterfaceClient, readingFrom } from './client.js';
import { abortCauseOf, type ActiveExecution, isExecutionEnd, waitAsActive } from './active-executions.js';
import { ExecutionLost } from './execution-lost.js';
import { type EngineLogger, type EngineOptions } from './options.js';
import { createPerformer, type EffectOutcome, type Perform, type PerformerNeeds } from './performer.js';
import { noEarlierRun, readEarlierRun } from './earlier-run.js';
import { type Effect, type Walk } from './walk/effects.js';
import { createRun, walkAbort, walkExecution, walkFailure } from './walk/execution.js';
import { failure } from './walk/reports.js';
import { type ExecutionWalk } from './walk/run.js';

const SHORTEST_REST_MS = 20;
const LONGEST_REST_MS = 1_000;
/** At the longest rest, all executions together poll at most once in this time, in milliseconds. */
const REST_MS_OF_EACH = 20;

export type ExecutionNeeds = PerformerNeeds & {
  readonly options: EngineOptions;
  readonly signal: AbortSignal;
  readonly logger: EngineLogger;
  readonly definitionOf: (id: Identifier) => Promise<CompiledWorkflowClosure | undefined>;
  readonly dynamicClosures: ReadonlyMap<string, CompiledWorkflowClosure>;
  /** Number of executions that the engine walks. */
  readonly activeCount: () => number;
  /** The position of the log at which the engine got the lease of an execution; `undefined` without leases. */
  readonly leasedAt: (id: Execution['id']) => string | undefined;
};

const waitOf = (outcomes: readonly EffectOutcome[]): ActiveExecution['waiting'] => {
  if (outcomes.includes('done')) return undefined;
  return outcomes.includes('gate') ? 'gate' : 'child';
};

/**
 * The next rest between two rounds of a walk, in milliseconds. While every effect waits, each rest is longer than the
 * one before, up to a limit that grows with the number of executions.
 */
export const nextRest = (restMs: number, hasMoved: boolean, activeCount: number): number =>
  hasMoved ? SHORTEST_REST_MS : Math.min(Math.max(LONGEST_REST_MS, activeCount * REST_MS_OF_EACH), restMs * 1.5);

/**
 * Performs the effects of one round, and waits for all of them, also when one fails: nothing of the round is sent
 * later.
 *
 * @throws the first error of an effect.
 */
const performRound = async (effects: readonly Effect[], perform: Perform): Promise<readonly EffectOutcome[]> => {
  const settled = await Promise.allSettled(effects.map(perform));
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
};

/**
 * Drives a walk round by round, to its end or to an abort. While every effect of a round waits, it rests between
 * rounds, longer each time.
 */
export const drive = async (
  walk: Walk<Phase>,
  perform: Perform,
  active: ActiveExecution,
  needs: Pick<ExecutionNeeds, 'signal' | 'activeCount'>,
): Promise<void> => {
  let restMs = SHORTEST_REST_MS;
  for (let step = walk.next(); ; step = walk.next()) {
    if (step.done === true) return;
    const outcomes = await performRound(step.value, perform);
    const wait = waitOf(outcomes);
    active.waiting = wait;
    if (wait && active.abortCause === undefined && active.lost === undefined)
      await waitAsActive(active, restMs, needs.signal);
    restMs = nextRest(restMs, wait === undefined, needs.activeCount());
    if (needs.signal.aborted) throw new EngineStopped('stopped');
    if (active.lost) throw active.lost;
    if (active.abortCause !== undefined) return;
  }
};

const readExecution = async (client: InterfaceClient, id: Execution['id']): Promise<Execution> =>
  client.call(AdminService.method.getExecution, id ? { id } : {});

const phaseOf = (execution: Execution): Phase => execution.closure?.phase ?? Phase.UNDEFINED;

const prepare = async (needs: ExecutionNeeds, execution: Execution): Promise<ExecutionWalk> => {
  const { client, options } = needs;
  const { id, spec } = execution;
  if (!id) throw new TypeError('the control plane has answered an execution without an id');
  const phase = phaseOf(execution);
  const isFresh = phase === Phase.QUEUED || phase === Phase.UNDEFINED;
  const { known, ledger } = isFresh ? noEarlierRun(phase) : await readEarlierRun(client, id, phase);
  return createRun({
    id,
    known,
    ledger,
    seed: options.seed,
    failureProbability: options.failureProbability,
    gates: options.gates,
    isRecovery: spec?.metadata?.mode === Mode.RECOVERED && spec.metadata.referenceExecution !== undefined,
    dynamicClosure: (taskName) => needs.dynamicClosures.get(taskName),
  });
};

const begin = async (needs: ExecutionNeeds, execution: Execution, run: ExecutionWalk): Promise<Walk<Phase>> => {
  const workflowId = execution.closure?.workflowId;
  const [closure, data] = await Promise.all([
    workflowId ? needs.definitionOf(workflowId) : undefined,
    needs.client.call(AdminService.method.getExecutionData, { id: run.id }),
  ]);
  if (!closure) throw new TypeError(`the workflow of ${run.id.name} has no compiled form`);
  return walkExecution(run, closure, data.fullInputs?.literals ?? {});
};

const finishAbort = async (run: ExecutionWalk, perform: Perform, active: ActiveExecution): Promise<void> => {
  active.waiting = undefined;
  for (const effects of walkAbort(run, active.abortCause ?? '')) await performRound(effects, perform);
};

/** Performs an effect. A report that is refused as invalid is left out, except of the execution itself. */
const leavingOutInvalid =
  (perform: Perform): Perform =>
  async (effect) => {
    try {
      return await perform(effect);
    } catch (error) {
      const isOfPart = effect.kind === 'report' && effect.report.kind !== 'workflow';
      if (isOfPart && error instanceof ExecutionLost && error.why === 'invalid') return 'done';
      throw error;
    }
  };

/** Ends an execution of which a report is never accepted: aborts what is open, reports FAILED with the refusal. */
const finishRefused = async (run: ExecutionWalk, perform: Perform, { message }: ExecutionLost): Promise<void> => {
  const error = failure('ReportRefused', `a report of the engine was refused as ${message}`, ErrorKind.SYSTEM);
  for (const effects of walkFailure(run, error)) await performRound(effects, leavingOutInvalid(perform));
};

/**
 * Returns the cause of an abort when the control plane has refused events because the execution is to be aborted;
 * otherwise `undefined`.
 */
const abortBehind = async (needs: ExecutionNeeds, error: unknown, id: Execution['id']): Promise<string | undefined> => {
  if (!(error instanceof ExecutionLost) || error.why !== 'refused') return undefined;
  const execution = await readExecution(needs.client, id);
  return phaseOf(execution) === Phase.ABORTING ? abortCauseOf(execution) : undefined;
};

type Walked = { readonly run: ExecutionWalk; readonly perform: Perform; readonly active: ActiveExecution };

/**
 * Handles an error of a walk: finds out that the execution is to be aborted, or ends it because one of its reports is
 * never accepted.
 *
 * @throws the error, when it is another one and no abort is requested.
 */
const handleError = async (needs: ExecutionNeeds, { run, perform, active }: Walked, error: unknown): Promise<void> => {
  active.abortCause ??= await abortBehind(needs, error, run.id);
  if (active.abortCause !== undefined) return;
  if (!(error instanceof ExecutionLost) || error.why !== 'invalid') throw error;
  needs.logger.warn({ execution: active.key, err: error }, 'a report was refused as invalid; the execution fails');
  await finishRefused(run, perform, error);
};

/** Walks one execution until it has ended, by this walk or by a request to the control plane. */
export const walkActiveExecution = async (
  given: ExecutionNeeds,
  active: ActiveExecution,
  id: Execution['id'],
): Promise<void> => {
  const leasedAt = given.leasedAt(id);
  // Reads must include all reports of earlier walks: a task that one of them has started must not be started again.
  const needs = leasedAt === undefined ? given : { ...given, client: readingFrom(given.client, leasedAt) };
  const execution = await readExecution(needs.client, id);
  if (isExecutionEnd(phaseOf(execution))) return;
  if (phaseOf(execution) === Phase.ABORTING) active.abortCause ??= abortCauseOf(execution);
  const run = await prepare(needs, execution);
  const perform = createPerformer(needs, execution, active);
  try {
    if (active.abortCause === undefined) await drive(await begin(needs, execution, run), perform, active, needs);
  } catch (error) {
    await handleError(needs, { run, perform, active }, error);
  }
  if (active.abortCause !== undefined) await finishAbort(run, perform, active);
};
