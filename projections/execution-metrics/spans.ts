import type { Execution } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type { NodeExecution, NodeExecutionClosure } from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { TaskExecution } from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import { NodeExecution_Phase as NodePhase } from '../../proto/gen/platformidl/core/execution_pb.js';
import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { Span } from '../../proto/gen/platformidl/core/metrics_pb.js';
import type { Node } from '../../proto/gen/platformidl/core/workflow_pb.js';
import type { Instant } from '../query/times.js';
import {
  readAttempts,
  readChild,
  definitionOf,
  dynamicOf,
  END_NODE,
  type NodesOfParent,
  levelOf,
  nodesUnder,
  type MetricsReads,
  specIdOf,
  START_NODE,
  upstreamEnd,
  workflowOf,
} from './reads.js';
import { spanEnd, operation, operationUnlessNegative, spanOf } from './span.js';

type Spans = readonly Span[];

/** A node that is being converted to a span. */
type At = {
  readonly reads: MetricsReads;
  readonly node: NodeExecution;
  readonly closure: Partial<NodeExecutionClosure>;
  readonly level: NodesOfParent;
  readonly depth: number;
};

const childrenOf = ({ reads, node }: At): Promise<readonly NodeExecution[]> =>
  nodesUnder(reads, node.id?.executionId, node.id?.nodeId ?? '');

const allSetup = ({ closure }: At): Spans => operation('NODE_SETUP', closure.createdAt, closure.updatedAt);

const teardown = ({ closure }: At, from: Instant | undefined): Spans =>
  operationUnlessNegative('NODE_TEARDOWN', from, closure.updatedAt);

/**
 * The time at which the nodes of a level could start: the end of the start node, or, without one, the creation of the
 * first node.
 */
const beginningOf = ({ nodes, byId }: NodesOfParent): Instant | undefined =>
  byId.get(START_NODE)?.closure?.updatedAt ?? nodes[0]?.closure?.createdAt;

const taskSpan = ({ id, closure }: TaskExecution): Span => {
  const { createdAt, startedAt, updatedAt } = closure ?? {};
  const end = spanEnd({ startedAt, duration: closure?.duration }, updatedAt);
  const spans = startedAt
    ? [
        ...operation('TASK_SETUP', createdAt, startedAt),
        ...operation('TASK_RUNTIME', startedAt, end),
        ...(closure?.duration ? operationUnlessNegative('TASK_TEARDOWN', end, updatedAt) : []),
      ]
    : operation('TASK_SETUP', createdAt, updatedAt);
  return spanOf(id ? { case: 'taskId', value: id } : { case: undefined }, createdAt, updatedAt, spans);
};

const attemptSpans = (attempts: readonly TaskExecution[], depth: number): Spans =>
  attempts.flatMap((attempt, index) => [
    ...operation('NODE_RESET', attempts[index - 1]?.closure?.updatedAt, attempt.closure?.createdAt),
    ...(depth === 0 ? [] : [taskSpan(attempt)]),
  ]);

/** Spans of a dynamic node after its task: the nodes that the task has generated. */
const dynamicSpans = async (at: At, taskEnd: Instant | undefined): Promise<Spans> => {
  const nodes = await childrenOf(at);
  if (nodes.length === 0) return operation('NODE_RESET', taskEnd, at.closure.updatedAt);
  const level = levelOf(nodes, await dynamicOf(at.reads, at.node));
  return [
    // Engines may report the end of the task after the start of the nodes that it has generated.
    ...operationUnlessNegative('NODE_RESET', taskEnd, beginningOf(level)),
    ...(await nodeSpans(at.reads, level, at.depth)),
    ...teardown(at, upstreamEnd(level, END_NODE)),
  ];
};

const taskNodeSpans = async (at: At): Promise<Spans> => {
  const attempts = await readAttempts(at.reads, at.node.id);
  const last = attempts.at(-1);
  if (last === undefined) return allSetup(at);
  const end = last.closure?.updatedAt;
  return [
    ...operation('NODE_SETUP', at.closure.createdAt, attempts[0]?.closure?.createdAt),
    ...attemptSpans(attempts, at.depth),
    ...(at.node.metadata?.isParentNode === true ? await dynamicSpans(at, end) : teardown(at, end)),
  ];
};

/** Spans of a branch node. At most one child was chosen; the others, where the engine reports them, were skipped. */
const branchSpans = async (at: At): Promise<Spans> => {
  const children = await childrenOf(at);
  const chosen = children.find(({ closure }) => closure?.phase !== NodePhase.SKIPPED) ?? children[0];
  if (chosen === undefined) return allSetup(at);
  const spans: Span[] = [];
  for (const child of children) spans.push(await nodeSpan(at.reads, child, at.level, at.depth));
  return [
    ...operation('NODE_SETUP', at.closure.createdAt, chosen.closure?.createdAt),
    ...spans,
    ...teardown(at, chosen.closure?.updatedAt),
  ];
};

const gateSpans = (at: At): Spans => {
  const { createdAt, startedAt, updatedAt, duration } = at.closure;
  if (startedAt === undefined) return allSetup(at);
  const end = spanEnd(at.closure, updatedAt);
  return [
    ...operation('NODE_SETUP', createdAt, startedAt),
    ...operation('NODE_IDLE', startedAt, end),
    ...(duration ? teardown(at, end) : []),
  ];
};

const launchPlanSpans = async (at: At): Promise<Spans> => {
  const child = await readChild(at.reads, at.node);
  if (child === undefined) return allSetup(at);
  return [
    ...operation('NODE_SETUP', at.closure.createdAt, child.closure?.createdAt),
    await workflowSpan(at.reads, child, at.depth),
    ...teardown(at, child.closure?.updatedAt),
  ];
};

const isSame = (id: Identifier | undefined, { project, domain, name, version }: Identifier): boolean =>
  id?.project === project && id.domain === domain && id.name === name && id.version === version;

const subWorkflowSpans = async (at: At, reference: Identifier): Promise<Spans> => {
  const nodes = await childrenOf(at);
  if (nodes.length === 0) return allSetup(at);
  const { closure } = at.level;
  const workflow = closure?.subWorkflows.find(({ template }) => isSame(template?.id, reference));
  const level = levelOf(nodes, closure, workflow);
  return [
    ...operation('NODE_SETUP', at.closure.createdAt, beginningOf(level)),
    ...(await nodeSpans(at.reads, level, at.depth)),
    ...teardown(at, upstreamEnd(level, END_NODE)),
  ];
};

/** Child spans of a node, by the kind of its definition; none for arrays and unknown kinds. */
const insideOf = async (at: At, target: Node['target'] | undefined): Promise<Spans> => {
  switch (target?.case) {
    case 'taskNode':
      return taskNodeSpans(at);
    case 'branchNode':
      return branchSpans(at);
    case 'gateNode':
      return gateSpans(at);
    case 'workflowNode': {
      const { reference } = target.value;
      if (reference.case !== 'subWorkflowRef') return launchPlanSpans(at);
      return subWorkflowSpans(at, reference.value);
    }
    default:
      return [];
  }
};

const nodeSpan = async (
  reads: MetricsReads,
  node: NodeExecution,
  level: NodesOfParent,
  depth: number,
): Promise<Span> => {
  const closure: Partial<NodeExecutionClosure> = node.closure ?? {};
  const at: At = { reads, node, closure, level, depth: depth - 1 };
  const spans = depth === 0 ? [] : await insideOf(at, definitionOf(level, node)?.target);
  const id = node.id ? ({ case: 'nodeId', value: node.id } as const) : ({ case: undefined } as const);
  return spanOf(id, closure.createdAt, closure.updatedAt, spans);
};

const nodeSpans = async (reads: MetricsReads, level: NodesOfParent, depth: number): Promise<Spans> => {
  const spans: Span[] = [];
  for (const node of level.nodes) {
    const id = specIdOf(node);
    if (id === START_NODE || id === END_NODE) continue;
    const span = await nodeSpan(reads, node, level, depth);
    // The transition to a node is part of its span at any depth.
    span.spans.unshift(...operation('NODE_TRANSITION', upstreamEnd(level, id), node.closure?.createdAt));
    spans.push(span);
  }
  return spans;
};

const workflowSpans = async (reads: MetricsReads, execution: Execution, depth: number): Promise<Spans> => {
  const { createdAt, updatedAt } = execution.closure ?? {};
  const nodes = await nodesUnder(reads, execution.id, '');
  const level = levelOf(nodes, await workflowOf(reads, execution));
  const started = level.byId.get(START_NODE)?.closure?.updatedAt;
  if (started === undefined) return operation('WORKFLOW_SETUP', createdAt, updatedAt);
  return [
    ...operation('WORKFLOW_SETUP', createdAt, started),
    ...(await nodeSpans(reads, level, depth - 1)),
    ...operationUnlessNegative('WORKFLOW_TEARDOWN', upstreamEnd(level, END_NODE), updatedAt),
  ];
};

/** The time of an execution as a tree of spans, `depth` levels deep. */
export const workflowSpan = async (reads: MetricsReads, execution: Execution, depth: number): Promise<Span> => {
  const { createdAt, updatedAt } = execution.closure ?? {};
  const spans = depth === 0 ? [] : await workflowSpans(reads, execution, depth);
  const id = execution.id ? ({ case: 'workflowId', value: execution.id } as const) : ({ case: undefined } as const);
  return spanOf(id, createdAt, updatedAt, spans);
};
