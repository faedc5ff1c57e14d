import { type Duration, durationFromMs, type Timestamp } from '@bufbuild/protobuf/wkt';

import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { NodeExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { HistoryEntity, type Transition } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { hasEnded, type PhaseName } from '../../look/phases.js';
import { msOf } from '../../look/times.js';
import { type Children, idOf } from './tree.js';

/** A transition of a node, with its index among the transitions of the execution that have been read. */
type NodeTransition = { readonly index: number; readonly transition: Transition };

/** The transitions of each node, in the order in which they were recorded, by the id of the node. */
export type NodeLives = ReadonlyMap<string, readonly NodeTransition[]>;

/** Sorts the transitions of nodes by node, once for all moments that are shown. */
export const livesOf = (transitions: readonly Transition[]): NodeLives => {
  const lives = new Map<string, NodeTransition[]>();
  for (const [index, transition] of transitions.entries()) {
    if (transition.entity !== HistoryEntity.NODE) continue;
    const life = lives.get(transition.nodeId);
    if (life) life.push({ index, transition });
    else lives.set(transition.nodeId, [{ index, transition }]);
  }
  return lives;
};

const between = (from: Timestamp | undefined, to: Timestamp | undefined): Duration | undefined => {
  const [first, last] = [msOf(from), msOf(to)];
  return first === undefined || last === undefined ? undefined : durationFromMs(last - first);
};

const earlier = (one: Timestamp | undefined, other: Timestamp | undefined): Timestamp | undefined =>
  (msOf(other) ?? Infinity) < (msOf(one) ?? Infinity) ? other : one;

/**
 * The phase of a node after its transitions up to an index, the time at which that phase began, and the earliest time
 * at which a report says RUNNING.
 */
const stateAt = (life: readonly NodeTransition[], index: number) => {
  let phase: PhaseName = 'UNDEFINED';
  let changedAt: Timestamp | undefined;
  let startedAt: Timestamp | undefined;
  for (const { index: at, transition } of life) {
    if (at > index) break;
    if (transition.phase === 'RUNNING') startedAt = earlier(startedAt, transition.occurredAt);
    if (transition.samePhase) continue;
    phase = transition.phase as PhaseName;
    changedAt = transition.occurredAt;
  }
  return { phase, changedAt, startedAt };
};

/**
 * The node with the phase and times that it had after its transitions up to an index: as it is now after the last of
 * them, `undefined` before the first. Between these, `updatedAt` is the time of the last change of phase, although the
 * server's own also counts repeated reports.
 */
const nodeAt = (node: NodeExecution, life: readonly NodeTransition[], index: number): NodeExecution | undefined => {
  const { closure } = node;
  if (!closure || (life.at(-1)?.index ?? 0) <= index) return node;
  if ((life[0]?.index ?? 0) > index) return undefined;
  const { phase, changedAt, startedAt } = stateAt(life, index);
  const { startedAt: _startedAt, duration: _duration, updatedAt: _updatedAt, ...kept } = closure;
  const duration = hasEnded(phase) ? between(startedAt, changedAt) : undefined;
  return {
    ...node,
    closure: {
      ...kept,
      phase: Phase[phase as keyof typeof Phase],
      ...(startedAt && { startedAt }),
      ...(duration && { duration }),
      ...(changedAt && { updatedAt: changedAt }),
    },
  };
};

/**
 * The nodes that there were after the transition at an index, with the phases and times of that moment; the rest of a
 * node, such as its cache status, is that of the present. They are made here, because a server that reads the whole log
 * of an execution for each moment could not follow a slider. A node without transitions in `lives`, because they have
 * not been read yet, is shown as it is now.
 */
export const nodesAt = (present: Children, lives: NodeLives, index: number): Children =>
  new Map(
    [...present].map(([parent, nodes]) => [
      parent,
      nodes.flatMap((node) => nodeAt(node, lives.get(idOf(node)) ?? [], index) ?? []),
    ]),
  );
