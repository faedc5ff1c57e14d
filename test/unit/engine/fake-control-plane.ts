import { create, fromBinary, toBinary } from '@bufbuild/protobuf';

import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { WorkflowExecutionIdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { NodeExecutionEventSchema, type NodeExecutionEvent } from '../../../proto/gen/platformidl/event/event_pb.js';
import type { Effect, End, Report } from '../../../services/engine/walk/effects.js';
import { createRun, walkAbort, walkExecution } from '../../../services/engine/walk/execution.js';
import { createLedger, isNodeEnd, isTaskEnd, taskKey } from '../../../services/engine/walk/ledger.js';
import type { Literals } from '../../../services/engine/walk/literal-values.js';
import { drawFrom } from '../../../services/engine/walk/draw.js';
import { drawLiteral } from '../../../services/engine/walk/typed-literals.js';
import type { Known, Run } from '../../../services/engine/walk/run.js';
import { type Launched, launch, type World } from './world.js';

/** One execution as it was reported. */
export type Reported = {
  readonly name: string;
  readonly reports: Report[];
  readonly nodes: Map<string, NodeExecutionEvent>;
  readonly tasks: Map<string, TaskPhase>;
  readonly outputs: Map<string, Literals>;
  phase: Phase;
  result: Literals;
  end: End | undefined;
};

export type FakeOptions = Partial<
  Pick<Run, 'seed' | 'failureProbability' | 'gates' | 'dynamicClosure' | 'isRecovery' | 'known' | 'ledger'>
> & {
  /** Outputs of the nodes of an earlier execution. */
  readonly recall?: (nodeId: string) => Literals | undefined;
  /** Stops the walk before this round. */
  readonly stopAt?: number;
  /** Asks for an abort before this round. */
  readonly abortAt?: number;
  /** What an earlier walk has reported; the walk goes on from there. */
  readonly before?: Reported;
};

const outputsIn = (event: { readonly outputResult: NodeExecutionEvent['outputResult'] }): Literals =>
  event.outputResult.case === 'outputData' ? event.outputResult.value.literals : {};

/** A control plane in memory: takes reports with the rules that matter to an engine, and runs children at once. */
export class Violation extends Error {}

const takeNode = (of: Reported, event: NodeExecutionEvent): void => {
  const id = event.id!.nodeId;
  const before = of.nodes.get(id);
  const parent = event.parentNodeMetadata?.nodeId;
  if (parent !== undefined && !of.nodes.has(parent)) throw new Violation(`${id} before its parent ${parent}`);
  if (before && isNodeEnd(before.phase)) throw new Violation(`${id}: ${NodePhase[event.phase]} after its end`);
  if (before && event.phase === NodePhase.QUEUED) throw new Violation(`${id} QUEUED again`);
  // What is kept has gone over the wire.
  of.nodes.set(id, fromBinary(NodeExecutionEventSchema, toBinary(NodeExecutionEventSchema, event)));
  if (isNodeEnd(event.phase)) of.outputs.set(id, outputsIn(event));
};

const take = (of: Reported, report: Report): void => {
  of.reports.push(report);
  if (report.kind === 'node') return takeNode(of, report.event);
  if (report.kind === 'task') {
    const { parentNodeExecutionId, retryAttempt, phase } = report.event;
    const node = parentNodeExecutionId!.nodeId;
    const key = taskKey(node, retryAttempt);
    if (!of.nodes.has(node)) throw new Violation(`task of ${node} before the node`);
    if (isTaskEnd(of.tasks.get(key) ?? TaskPhase.UNDEFINED)) throw new Violation(`${key} after its end`);
    if (of.tasks.has(key) && phase === TaskPhase.QUEUED) throw new Violation(`${key} QUEUED again`);
    of.tasks.set(key, phase);
    return;
  }
  const { phase } = report.event;
  if (of.phase > Phase.QUEUED && phase < of.phase) throw new Violation(`${Phase[phase]} after ${Phase[of.phase]}`);
  of.phase = phase;
  if (report.event.outputResult.case === 'outputData') of.result = report.event.outputResult.value.literals;
};

const knownOf = (before: Reported): Pick<Run, 'known' | 'ledger'> => {
  const ledger = createLedger();
  for (const event of before.nodes.values()) if (!isNodeEnd(event.phase)) ledger.noteNode(event);
  for (const { kind, event } of before.reports) if (kind === 'task') ledger.noteTask(event);
  const known: Known = {
    workflowPhase: before.phase,
    nodes: new Map([...before.nodes].map(([id, { phase }]) => [id, { phase }])),
    tasks: before.tasks,
  };
  return { known, ledger };
};

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

const runOf = (name: string, of: Reported, options: FakeOptions): Run =>
  createRun({
    id: create(WorkflowExecutionIdentifierSchema, { project: 'flytesnacks', domain: 'development', name }),
    seed: options.seed ?? 'seed',
    failureProbability: options.failureProbability ?? 0,
    gates: options.gates ?? 'auto',
    isRecovery: options.isRecovery ?? false,
    dynamicClosure: options.dynamicClosure ?? (() => undefined),
    ...(options.before
      ? knownOf(of)
      : { known: { workflowPhase: Phase.QUEUED, nodes: new Map(), tasks: new Map() }, ledger: createLedger() }),
  });

/** All executions that one walk has made, the walked one first. */
export type Outcome = { readonly execution: Reported; readonly children: ReadonlyMap<string, Reported> };

/** Walks an execution against the fake, to its end or as far as the options say. */
export const walk = (world: World, name: string, launched: Launched, options: FakeOptions = {}): Outcome => {
  const of = options.before ?? fresh(name);
  const children = new Map<string, Reported>();
  const run = runOf(name, of, options);
  const { stopAt: _, abortAt: __, before: ___, ...inherited } = options;

  const perform = (effect: Effect): void => {
    switch (effect.kind) {
      case 'report':
        return take(of, effect.report);
      case 'launch': {
        if (!children.has(effect.child.name)) {
          const child = launch(world, effect.launchPlan, {
            $typeName: 'platformidl.core.LiteralMap',
            literals: { ...effect.inputs },
          });
          const inner = walk(world, effect.child.name, child, inherited);
          children.set(effect.child.name, inner.execution);
          for (const [key, each] of inner.children) children.set(key, each);
        }
        return effect.reply(undefined);
      }
      case 'await-child':
        return effect.reply(children.get(effect.child.name)!.end!);
      case 'await-signal':
        return effect.reply(drawLiteral(drawFrom('signal'), effect.type));
      case 'await-time':
        return effect.reply();
      case 'read-outputs':
        return effect.reply(of.outputs.get(effect.nodeId) ?? {});
      case 'read-task-outputs': {
        const report = of.reports.findLast(
          ({ kind, event }) => kind === 'task' && event.parentNodeExecutionId?.nodeId === effect.nodeId,
        );
        return effect.reply(report?.kind === 'task' ? outputsIn(report.event) : {});
      }
      case 'read-launch-plan':
        return effect.reply(
          Object.keys(
            [...world.launchPlans].find(([key]) => key.includes(effect.id.name))![1].expectedOutputs!.variables,
          ),
        );
      case 'read-dynamic':
        return effect.reply(undefined);
      case 'recall': {
        const outputs = options.recall?.(effect.nodeId);
        return effect.reply(outputs && { outputs });
      }
      case 'terminate':
        return;
    }
  };

  let round = 0;
  const steps = walkExecution(run, launched.closure, launched.inputs.literals);
  for (const effects of steps) {
    if (round++ === options.stopAt) return { execution: of, children };
    effects.forEach(perform);
    if (round === options.abortAt) break;
  }
  if (round === options.abortAt) for (const effects of walkAbort(run, 'enough')) effects.forEach(perform);
  const last = of.reports.findLast(({ kind }) => kind === 'workflow');
  const result = last?.kind === 'workflow' ? last.event.outputResult : undefined;
  of.end =
    result?.case === 'error'
      ? { kind: 'failed', error: result.value }
      : { kind: 'succeeded', outputs: result?.case === 'outputData' ? result.value.literals : {} };
  return { execution: of, children };
};
