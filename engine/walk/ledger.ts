import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { type Identifier, type WorkflowExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { type NodeExecutionEvent, type TaskExecutionEvent } from '../../proto/gen/platformidl/event/event_pb.js';

/** A node that was reported, be it as queued, and has not ended. */
export type OpenNode = {
  readonly id: string;
  readonly specNodeId: string;
  readonly parent: string;
  readonly retryGroup: string;
};

/** A task attempt that was reported, be it as queued, and has not ended. */
export type OpenTask = { readonly nodeId: string; readonly taskId: Identifier; readonly attempt: number };

export type OpenEntities = {
  readonly nodes: readonly OpenNode[];
  readonly tasks: readonly OpenTask[];
  readonly children: readonly WorkflowExecutionIdentifier[];
};

/** The open nodes, tasks and child executions of an execution: an abort or a failure must end them. */
export interface Ledger {
  noteNode(event: NodeExecutionEvent): void;
  noteTask(event: TaskExecutionEvent): void;
  /** Notes a child execution of a node, so that an abort of the node can terminate it. */
  noteChild(nodeId: string, child: WorkflowExecutionIdentifier): void;
  openNode(node: OpenNode): void;
  openTask(task: OpenTask): void;
  /**
   * The open entities below a node (`''`: in the whole execution), except one node and all below it. Nodes and tasks
   * are in the reverse of the order in which they were first noted, so that a node comes before its parent; child
   * executions are together for each node, in the order in which they were noted.
   */
  open(parent: string, except?: string): OpenEntities;
}

const NODE_ENDS: ReadonlySet<NodePhase> = new Set([
  NodePhase.SUCCEEDED,
  NodePhase.FAILED,
  NodePhase.ABORTED,
  NodePhase.SKIPPED,
  NodePhase.TIMED_OUT,
  NodePhase.RECOVERED,
]);

const TASK_ENDS: ReadonlySet<TaskPhase> = new Set([TaskPhase.SUCCEEDED, TaskPhase.FAILED, TaskPhase.ABORTED]);

export const isNodeEnd = (phase: NodePhase): boolean => NODE_ENDS.has(phase);

export const isTaskEnd = (phase: TaskPhase): boolean => TASK_ENDS.has(phase);

export const taskKey = (nodeId: string, attempt: number): string => `${nodeId}/${attempt}`;

export const createLedger = (): Ledger => {
  const nodes = new Map<string, OpenNode>();
  const tasks = new Map<string, OpenTask>();
  const children = new Map<string, WorkflowExecutionIdentifier[]>();

  const isUnder = (nodeId: string, parent: string): boolean => {
    if (parent === '') return true;
    for (let current = nodes.get(nodeId); current; current = nodes.get(current.parent)) {
      if (current.parent === parent) return true;
    }
    return false;
  };

  const openNode = (node: OpenNode): void => void nodes.set(node.id, node);
  const openTask = (task: OpenTask): void => void tasks.set(taskKey(task.nodeId, task.attempt), task);

  return {
    openNode,
    openTask,
    noteNode: (event) => {
      const id = event.id?.nodeId ?? '';
      const parent = event.parentNodeMetadata?.nodeId ?? '';
      if (isNodeEnd(event.phase)) {
        nodes.delete(id);
        children.delete(id);
      } else openNode({ id, parent, specNodeId: event.specNodeId, retryGroup: event.retryGroup });
    },
    noteTask: (event) => {
      const nodeId = event.parentNodeExecutionId?.nodeId ?? '';
      if (isTaskEnd(event.phase)) tasks.delete(taskKey(nodeId, event.retryAttempt));
      else if (event.taskId) openTask({ nodeId, taskId: event.taskId, attempt: event.retryAttempt });
    },
    noteChild: (nodeId, child) => void children.set(nodeId, [...(children.get(nodeId) ?? []), child]),
    open: (parent, except) => {
      const isSpared = (id: string): boolean => except !== undefined && (id === except || isUnder(id, except));
      const below = [...nodes.values()].filter(({ id }) => isUnder(id, parent) && !isSpared(id)).reverse();
      const ids = new Set(below.map((each) => each.id));
      return {
        nodes: below,
        tasks: [...tasks.values()].filter((each) => ids.has(each.nodeId)).reverse(),
        children: [...children].filter(([nodeId]) => ids.has(nodeId)).flatMap(([, each]) => each),
      };
    },
  };
};
