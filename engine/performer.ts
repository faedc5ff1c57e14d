import { status } from '@grpc/grpc-js';
import { type MessageInitShape } from '@bufbuild/protobuf';
import { type Execution } from '../proto/gen/platformidl/admin/execution_pb.js';
import { type WorkflowExecutionIdentifier } from '../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { type SignalGetOrCreateRequestSchema } from '../proto/gen/platformidl/admin/signal_pb.js';
import { type Literal } from '../proto/gen/platformidl/core/literals_pb.js';
import { SignalService } from '../proto/gen/platformidl/service/signal_pb.js';
import { NodeExecution_Phase as Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { type ActiveExecution } from './active-executions.js';
import { CallError } from './call-error.js';
import { launchChild, readChildEnd, terminateChild } from './child-executions.js';
import { type InterfaceClient } from './client.js';
import { ExecutionLost } from './execution-lost.js';
import { type Reporter } from './reporter.js';
import { type Effect, type EarlierResult } from './walk/effects.js';

/** `done`: the walk continues. `child`, `gate`: it waits for a child execution, or a signal or a time. */
export type EffectOutcome = 'done' | 'child' | 'gate';

type Of<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;
type Performers = { readonly [Kind in Effect['kind']]: (effect: Of<Kind>) => Promise<EffectOutcome> };

export type PerformerNeeds = {
  readonly client: InterfaceClient;
  readonly report: Reporter;
  /** Resolves when the next report may be sent. */
  readonly pace: () => Promise<void>;
  /** True when this engine walks the execution itself, so that its phase need not be read. */
  readonly isActive: (id: WorkflowExecutionIdentifier) => boolean;
  readonly onLaunch: () => void;
};

const { getNodeExecution, getNodeExecutionData, getTaskExecutionData, getDynamicNodeWorkflow, getLaunchPlan } =
  AdminService.method;

const whenFound = async <Answer>(reading: Promise<Answer>): Promise<Answer | undefined> => {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof CallError && error.code === status.NOT_FOUND) return undefined;
    throw error;
  }
};

/** Effects that read from the server: records of earlier walks and executions, and the outputs of a launch plan. */
const readers = (
  client: InterfaceClient,
  execution: Execution,
): Pick<Performers, 'read-outputs' | 'read-task-outputs' | 'read-dynamic' | 'read-launch-plan' | 'recall'> => {
  const nodeId = (id: string): { nodeId: string; executionId?: WorkflowExecutionIdentifier } => ({
    nodeId: id,
    ...(execution.id ? { executionId: execution.id } : {}),
  });
  return {
    'read-outputs': async (effect) => {
      const data = await client.call(getNodeExecutionData, { id: nodeId(effect.nodeId) });
      effect.reply(data.fullOutputs?.literals ?? {});
      return 'done';
    },
    'read-task-outputs': async ({ taskId, attempt, ...effect }) => {
      const id = { taskId, nodeExecutionId: nodeId(effect.nodeId), retryAttempt: attempt };
      effect.reply((await client.call(getTaskExecutionData, { id })).fullOutputs?.literals ?? {});
      return 'done';
    },
    'read-dynamic': async (effect) => {
      const found = await whenFound(client.call(getDynamicNodeWorkflow, { id: nodeId(effect.nodeId) }));
      effect.reply(found?.compiledWorkflow);
      return 'done';
    },
    'read-launch-plan': async (effect) => {
      const plan = await whenFound(client.call(getLaunchPlan, { id: effect.id }));
      effect.reply(Object.keys(plan?.closure?.expectedOutputs?.variables ?? {}));
      return 'done';
    },
    recall: async (effect) => {
      const earlier = execution.spec?.metadata?.referenceExecution;
      effect.reply(earlier ? await whenFound(readEarlierNode(client, earlier, effect.nodeId)) : undefined);
      return 'done';
    },
  };
};

/** Effects that wait for a child execution, a signal or a time. */
const waiters = (
  needs: PerformerNeeds,
  execution: Execution,
): Pick<Performers, 'await-child' | 'await-signal' | 'await-time'> => {
  const since = new Map<string, number>();
  const { client } = needs;
  return {
    'await-child': async (effect) => {
      const end = needs.isActive(effect.child) ? undefined : await readChildEnd(client, effect.child);
      if (end) effect.reply(end);
      return end ? 'done' : 'child';
    },
    'await-signal': async (effect) => {
      const id = { signalId: effect.signalId, ...(execution.id ? { executionId: execution.id } : {}) };
      const value = await readSignal(client, { id, type: effect.type });
      if (value) effect.reply(value);
      return value ? 'done' : 'gate';
    },
    'await-time': (effect) => {
      const begun = since.get(effect.nodeId) ?? performance.now();
      since.set(effect.nodeId, begun);
      const isOver = performance.now() - begun >= effect.milliseconds;
      if (isOver) effect.reply();
      return Promise.resolve(isOver ? 'done' : 'gate');
    },
  };
};

/** Performs an effect. */
export type Perform = (effect: Effect) => Promise<EffectOutcome>;

/**
 * True when this engine must do nothing more for the execution. After `invalid` it still has to end the execution as
 * failed; after `refused`, to abort it if that was requested, and otherwise to walk it again later.
 */
const isLoss = (error: unknown): error is ExecutionLost =>
  error instanceof ExecutionLost && error.why !== 'refused' && error.why !== 'invalid';

/**
 * Performs the effects of one execution's walk, until the execution is lost.
 *
 * @throws {ExecutionLost} when the execution is lost, or a report was refused.
 */
export const createPerformer = (needs: PerformerNeeds, execution: Execution, active: ActiveExecution): Perform => {
  const { client } = needs;
  const performers: Performers = {
    ...readers(client, execution),
    ...waiters(needs, execution),
    report: async (effect) => {
      await needs.pace();
      if (active.lost) throw active.lost;
      await needs.report(effect.report);
      return 'done';
    },
    launch: async (effect) => {
      effect.reply(await launchChild(client, execution, effect));
      needs.onLaunch();
      return 'done';
    },
    terminate: async (effect) => {
      await terminateChild(client, effect.child, effect.cause);
      return 'done';
    },
  };
  // Each kind has its own row, which accepts its effects; the compiler cannot see that across the look-up.
  const perform: Perform = (effect) => (performers[effect.kind] as Perform)(effect);
  return async (effect) => {
    if (active.lost) throw active.lost;
    try {
      return await perform(effect);
    } catch (error) {
      if (isLoss(error)) active.lost ??= error;
      throw error;
    }
  };
};

/** Reads the value of a signal; `undefined` when it has none yet. The call creates the signal if it does not exist. */
const readSignal = async (
  client: InterfaceClient,
  request: MessageInitShape<typeof SignalGetOrCreateRequestSchema>,
): Promise<Literal | undefined> => {
  try {
    return (await client.call(SignalService.method.getOrCreateSignal, request)).value;
  } catch (error) {
    // A control plane without signals leaves the gate closed: the execution can only be aborted.
    if (error instanceof CallError && error.code === status.UNIMPLEMENTED) return undefined;
    throw error;
  }
};

/**
 * Reads the result of a node in an earlier execution; `undefined` when the node did not succeed and so cannot be
 * reused.
 */
const readEarlierNode = async (
  client: InterfaceClient,
  executionId: WorkflowExecutionIdentifier,
  nodeId: string,
): Promise<EarlierResult | undefined> => {
  const id = { executionId, nodeId };
  const { closure } = await client.call(getNodeExecution, { id });
  if (closure?.phase !== Phase.SUCCEEDED && closure?.phase !== Phase.RECOVERED) return undefined;
  const outputs = (await client.call(getNodeExecutionData, { id })).fullOutputs?.literals ?? {};
  const target = closure.targetMetadata;
  const child = target.case === 'workflowNodeMetadata' ? target.value.executionId : undefined;
  return { outputs, ...(child ? { child } : {}) };
};
