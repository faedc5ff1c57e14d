import { create, fromBinary, toBinary } from '@bufbuild/protobuf';

import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { WorkflowExecutionIdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import {
  type NodeExecutionEvent,
  NodeExecutionEventSchema,
  type TaskExecutionEvent,
  type WorkflowExecutionEvent,
} from '../../../proto/gen/platformidl/event/event_pb.js';
import { identifierKey } from '../../../services/compiler/identifier-key.js';
import type { Effect, WalkOutcome, EventReport } from '../../../engine/walk/effects.js';
import { createRun, walkAbort, walkExecution } from '../../../engine/walk/execution.js';
import { createLedger, isNodeEnd, isTaskEnd, taskKey } from '../../../engine/walk/ledger.js';
import type { Literals } from '../../../engine/walk/values/literal-values.js';
import { randomSource } from '../../../engine/walk/values/random.js';
import { drawLiteral } from '../../../engine/walk/values/typed-literals.js';
import type { EarlierState, ExecutionWalk } from '../../../engine/walk/run.js';
import { type Launched, launch, type World } from './world.js';

/** The state of one execution according to its reports. */
export type Reported = {
  /** The name of the execution. */
  readonly name: string;
  /** All reports, in the order in which they were sent. */
  readonly reports: EventReport[];
  /** The last report of each node, by the id of the node. */
  readonly nodes: Map<string, NodeExecutionEvent>;
  /** The last phase of each attempt of a task, by its `taskKey`: `<node id>/<attempt>`. */
  readonly tasks: Map<string, TaskPhase>;
  /** The outputs of the nodes that have ended, by the id of the node. */
  readonly outputs: Map<string, Literals>;
  phase: Phase;
  /** The outputs of the execution. */
  result: Literals;
  /** Undefined until the execution has a report of its own. */
  end: WalkOutcome | undefined;
};

/** Options of a walk; those of the engine have defaults. */
export type FakeOptions = Partial<
  Pick<ExecutionWalk, 'seed' | 'failureProbability' | 'gates' | 'dynamicClosure' | 'isRecovery'>
> & {
  /** Gives the outputs of a node of an earlier execution; undefined when they are not to be taken over. */
  readonly recall?: (nodeId: string) => Literals | undefined;
  /**
   * Stops the walk after this number of rounds, as an engine that is killed does. A round is the list of effects
   * (reports, launches, reads) that the walk wants performed before it continues.
   */
  readonly stopAfterRounds?: number;
  /** Requests an abort after this number of rounds. */
  readonly abortAfterRounds?: number;
  /** The reports of an earlier walk; this walk resumes from there. */
  readonly before?: Reported;
};

/** The options with defaults. */
type Walked = FakeOptions & Required<Omit<FakeOptions, 'recall' | 'stopAfterRounds' | 'abortAfterRounds' | 'before'>>;

const outputsIn = (event: { readonly outputResult: NodeExecutionEvent['outputResult'] }): Literals =>
  event.outputResult.case === 'outputData' ? event.outputResult.value.literals : {};

/** The walk has sent a report that an engine must never send. */
class Violation extends Error {}

/** Records a report of a node; {@link Violation} when the reports before it do not allow it. */
const takeNode = (of: Reported, event: NodeExecutionEvent): void => {
  const id = event.id!.nodeId;
  const before = of.nodes.get(id);
  const parent = event.parentNodeMetadata?.nodeId;
  if (parent !== undefined && !of.nodes.has(parent)) throw new Violation(`${id} before its parent ${parent}`);
  if (before && isNodeEnd(before.phase)) throw new Violation(`${id}: ${NodePhase[event.phase]} after its end`);
  if (before && event.phase === NodePhase.QUEUED) throw new Violation(`${id} QUEUED again`);
  // Encode and decode, so that the stored message is one that has gone over the wire.
  of.nodes.set(id, fromBinary(NodeExecutionEventSchema, toBinary(NodeExecutionEventSchema, event)));
  if (isNodeEnd(event.phase)) of.outputs.set(id, outputsIn(event));
};

/** Records a report of an attempt of a task; {@link Violation} when the reports before it do not allow it. */
const takeTask = (of: Reported, event: TaskExecutionEvent): void => {
  const node = event.parentNodeExecutionId!.nodeId;
  const key = taskKey(node, event.retryAttempt);
  if (!of.nodes.has(node)) throw new Violation(`task of ${node} before the node`);
  if (isTaskEnd(of.tasks.get(key) ?? TaskPhase.UNDEFINED)) throw new Violation(`${key} after its end`);
  if (of.tasks.has(key) && event.phase === TaskPhase.QUEUED) throw new Violation(`${key} QUEUED again`);
  of.tasks.set(key, event.phase);
};

/** Records a report of the execution itself; {@link Violation} when the reports before it do not allow it. */
const takeWorkflow = (of: Reported, event: WorkflowExecutionEvent): void => {
  const { phase } = event;
  if (of.phase > Phase.QUEUED && phase < of.phase) throw new Violation(`${Phase[phase]} after ${Phase[of.phase]}`);
  of.phase = phase;
  of.result = outputsIn(event);
  of.end =
    event.outputResult.case === 'error'
      ? { kind: 'failed', error: event.outputResult.value }
      : { kind: 'succeeded', outputs: of.result };
};

const take = (of: Reported, report: EventReport): void => {
  of.reports.push(report);
  if (report.kind === 'node') takeNode(of, report.event);
  else if (report.kind === 'task') takeTask(of, report.event);
  else takeWorkflow(of, report.event);
};

/**
 * The knowledge that an engine resumes with: the phases of the earlier walk, and the nodes and attempts that are open.
 */
const knownOf = (before: Reported): Pick<ExecutionWalk, 'known' | 'ledger'> => {
  const ledger = createLedger();
  for (const event of before.nodes.values()) if (!isNodeEnd(event.phase)) ledger.noteNode(event);
  for (const { kind, event } of before.reports) if (kind === 'task') ledger.noteTask(event);
  const known: EarlierState = {
    workflowPhase: before.phase,
    nodes: new Map([...before.nodes].map(([id, { phase }]) => [id, { phase }])),
    // A copy without the reports of this walk: an engine reads the lists once, before it walks.
    tasks: new Map(before.tasks),
  };
  return { known, ledger };
};

/** The state of an execution without reports. */
const fresh = (name: string): Reported => ({
  name,
  reports: [],
  nodes: new Map(),
  tasks: new Map(),
  outputs: new Map(),
  phase: Phase.QUEUED,
  result: {},
  end: undefined,
});

/** The knowledge of an engine that begins an execution. */
const NOTHING: EarlierState = { workflowPhase: Phase.QUEUED, nodes: new Map(), tasks: new Map() };

const DEFAULTS = {
  seed: 'seed',
  failureProbability: 0,
  gates: 'auto',
  isRecovery: false,
  dynamicClosure: () => undefined,
} as const;

const runOf = (
  name: string,
  { before, seed, failureProbability, gates, isRecovery, dynamicClosure }: Walked,
): ExecutionWalk =>
  createRun({
    id: create(WorkflowExecutionIdentifierSchema, { project: 'flytesnacks', domain: 'development', name }),
    ...{ seed, failureProbability, gates, isRecovery, dynamicClosure },
    ...(before ? knownOf(before) : { known: NOTHING, ledger: createLedger() }),
  });

/** The walked execution, and the child executions that the walk has launched. */
export type Outcome = { readonly execution: Reported; readonly children: Map<string, Reported> };

/** The effect of a kind. */
type Of<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;
/** For each kind of effect, the function that performs it. */
type Performers = { readonly [Kind in Effect['kind']]: (effect: Of<Kind>) => void };

/** Walks a child execution to its end when it is launched for the first time. */
const runChild = (world: World, { children }: Outcome, effect: Of<'launch'>, options: FakeOptions): void => {
  if (!children.has(effect.child.name)) {
    const inputs = create(LiteralMapSchema, { literals: { ...effect.inputs } });
    const { stopAfterRounds: _, abortAfterRounds: __, before: ___, ...inherited } = options;
    const inner = walk(world, effect.child.name, launch(world, effect.launchPlan, inputs), inherited);
    for (const [name, each] of [[effect.child.name, inner.execution] as const, ...inner.children]) {
      children.set(name, each);
    }
  }
  effect.reply(undefined);
};

const lastTaskOutputs = ({ reports }: Reported, nodeId: string): Literals => {
  const last = reports.findLast(({ kind, event }) => kind === 'task' && event.parentNodeExecutionId?.nodeId === nodeId);
  return last ? outputsIn(last.event) : {};
};

const performersOf = (world: World, outcome: Outcome, options: FakeOptions): Performers => ({
  report: ({ report }) => take(outcome.execution, report),
  launch: (effect) => runChild(world, outcome, effect, options),
  terminate: () => undefined,
  'await-child': ({ child, reply }) => reply(outcome.children.get(child.name)!.end!),
  'await-signal': ({ type, reply }) => reply(drawLiteral(randomSource('signal'), type)),
  'await-time': ({ reply }) => reply(),
  'read-outputs': ({ nodeId, reply }) => reply(outcome.execution.outputs.get(nodeId) ?? {}),
  'read-task-outputs': ({ nodeId, reply }) => reply(lastTaskOutputs(outcome.execution, nodeId)),
  'read-dynamic': ({ reply }) => reply(undefined),
  'read-launch-plan': ({ id, reply }) =>
    reply(Object.keys(world.launchPlans.get(identifierKey(id))!.expectedOutputs!.variables)),
  recall: ({ nodeId, reply }) => {
    const outputs = options.recall?.(nodeId);
    reply(outputs && { outputs });
  },
});

/**
 * Walks an execution against the fake, to its end or until the options stop it.
 *
 * @throws {Violation} when the walk sends a report that an engine must never send.
 */
export const walk = (world: World, name: string, launched: Launched, options: FakeOptions = {}): Outcome => {
  const outcome: Outcome = { execution: options.before ?? fresh(name), children: new Map() };
  const run = runOf(name, { ...DEFAULTS, ...options });
  const performers = performersOf(world, outcome, options);
  const perform = (effect: Effect): void => (performers[effect.kind] as (each: Effect) => void)(effect);
  let round = 0;
  for (const effects of walkExecution(run, launched.closure, launched.inputs.literals)) {
    if (round++ === options.stopAfterRounds) return outcome;
    effects.forEach(perform);
    if (round === options.abortAfterRounds) break;
  }
  if (round === options.abortAfterRounds) for (const effects of walkAbort(run, 'enough')) effects.forEach(perform);
  return outcome;
};
