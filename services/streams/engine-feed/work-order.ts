import { QualityOfService_Tier as Tier } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type DueQueue, dueQueue } from '../../reactors/frame/due-queue.js';

/** The properties of an execution that decide which engine may take it. Executions with the same are in one lane. */
export type EngineRequirements = {
  readonly project: string;
  readonly domain: string;
  /** The execution cluster label; empty when there is none. */
  readonly clusterLabel: string;
  /** The assigned cluster pool; empty when there is none. */
  readonly clusterPool: string;
};

/** The properties of a waiting execution that decide its turn. */
export type QueuedExecution = {
  readonly lane: EngineRequirements;
  readonly tier: Tier;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number;
  /** The longest time that it may wait, in milliseconds; `undefined` without a limit. */
  readonly budgetMs: number | undefined;
  /** True when the execution is to be aborted; such executions come first. */
  readonly isAborting: boolean;
};

/** The share of its queueing budget after which an execution goes before all tiers. */
const RAISED_AT = 0.9;
/** The classes in their order: to be aborted or raised by its deadline, HIGH, MEDIUM (also without a tier), LOW. */
const RAISED = 0;
const CLASSES = 4;

const classOf = (tier: Tier): number => (tier === Tier.HIGH ? 1 : tier === Tier.LOW ? 3 : 2);

/**
 * Smooth weighted round robin, as in nginx: before each turn every waiting project gets its weight in credits; the
 * project with the most credits gets the turn and pays the sum of these weights.
 */
const weightedTurns = (weightOf: (project: string) => number) => {
  const credits = new Map<string, number>();
  return (projects: readonly string[]): string | undefined => {
    let chosen: string | undefined;
    let total = 0;
    for (const project of projects) {
      const weight = weightOf(project);
      const credit = (credits.get(project) ?? 0) + weight;
      total += weight;
      credits.set(project, credit);
      if (chosen === undefined || credit > (credits.get(chosen) ?? 0)) chosen = project;
    }
    if (chosen !== undefined) credits.set(chosen, (credits.get(chosen) ?? 0) - total);
    return chosen;
  };
};

type Entry<Item> = { readonly item: Item; readonly dueMs: number; readonly inClass: number };
type OpenLane<Item> = { readonly lane: EngineRequirements; readonly queue: DueQueue<Entry<Item>> };

const keyOf = ({ project, domain, clusterLabel, clusterPool }: EngineRequirements): string =>
  JSON.stringify([project, domain, clusterLabel, clusterPool]);

/**
 * The order of the executions that wait: HIGH before MEDIUM before LOW, and before all of them those that are to be
 * aborted or whose queueing budget is nearly used up. Within each of these, projects take turns by their weights. Of
 * one project the oldest is first; in front of the tiers the one to be aborted, then that with the earliest deadline.
 */
export class WorkOrder<Item extends QueuedExecution> {
  readonly #entries = new Map<Item, Entry<Item>>();
  readonly #classes = Array.from({ length: CLASSES }, () => new Map<string, OpenLane<Item>>());
  readonly #raises = dueQueue<Entry<Item> & { readonly raised: Entry<Item> }>();
  readonly #turn: (projects: readonly string[]) => string | undefined;

  constructor(weightOf: (project: string) => number) {
    this.#turn = weightedTurns(weightOf);
  }

  size(): number {
    return this.#entries.size;
  }

  /** Adds an execution, or moves it after a change. */
  add(item: Item): void {
    const { createdAtMs, budgetMs, isAborting, tier } = item;
    const entry = isAborting
      ? { item, dueMs: 0, inClass: RAISED }
      : { item, dueMs: createdAtMs, inClass: classOf(tier) };
    this.#push(entry);
    if (isAborting || budgetMs === undefined) return;
    const raised = { item, dueMs: createdAtMs + budgetMs, inClass: RAISED };
    this.#raises.push({ ...entry, dueMs: createdAtMs + budgetMs * RAISED_AT, raised });
  }

  remove(item: Item): void {
    this.#entries.delete(item);
  }

  /**
   * Removes and returns the next execution in a lane that the engine accepts; `undefined` when there is none.
   *
   * @param refuses true for an execution that is not offered to the engine now, such as one that it has rejected.
   */
  next(
    takes: (lane: EngineRequirements) => boolean,
    nowMs: number,
    refuses: (item: Item) => boolean = () => false,
  ): Item | undefined {
    this.#raise(nowMs);
    const refused: Entry<Item>[] = [];
    let found = this.#take(takes);
    for (; found && refuses(found.item); found = this.#take(takes)) refused.push(found);
    for (const entry of refused) this.#push(entry);
    return found?.item;
  }

  #push(entry: Entry<Item>): void {
    const lanes = this.#classes[entry.inClass];
    const key = keyOf(entry.item.lane);
    const open = lanes?.get(key) ?? { lane: entry.item.lane, queue: dueQueue<Entry<Item>>() };
    lanes?.set(key, open);
    this.#entries.set(entry.item, entry);
    open.queue.push(entry);
  }

  /** The first entry that still waits; drops entries before it that were taken, removed or replaced. */
  #headOf({ queue }: OpenLane<Item>): Entry<Item> | undefined {
    for (let head = queue.peek(); head; head = queue.peek()) {
      if (this.#entries.get(head.item) === head) return head;
      queue.pop();
    }
    return undefined;
  }

  #raise(nowMs: number): void {
    for (let first = this.#raises.peek(); first && first.dueMs <= nowMs; first = this.#raises.peek()) {
      this.#raises.pop();
      if (this.#entries.get(first.item)?.inClass === first.inClass) this.#push(first.raised);
    }
  }

  /** The non-empty lanes of a class that the engine accepts, by project. */
  #lanesOf(
    lanes: Map<string, OpenLane<Item>>,
    takes: (lane: EngineRequirements) => boolean,
  ): ReadonlyMap<string, readonly OpenLane<Item>[]> {
    const byProject = new Map<string, OpenLane<Item>[]>();
    for (const [key, open] of lanes) {
      const { project } = open.lane;
      if (this.#headOf(open) === undefined) lanes.delete(key);
      else if (takes(open.lane)) byProject.set(project, [...(byProject.get(project) ?? []), open]);
    }
    return byProject;
  }

  #takeFrom(lanes: readonly OpenLane<Item>[]): Entry<Item> | undefined {
    const [first] = [...lanes].sort((a, b) => (a.queue.peek()?.dueMs ?? 0) - (b.queue.peek()?.dueMs ?? 0));
    const entry = first?.queue.pop();
    if (entry) this.#entries.delete(entry.item);
    return entry;
  }

  #take(takes: (lane: EngineRequirements) => boolean): Entry<Item> | undefined {
    for (const lanes of this.#classes) {
      const byProject = this.#lanesOf(lanes, takes);
      const project = this.#turn([...byProject.keys()]);
      if (project !== undefined) return this.#takeFrom(byProject.get(project) ?? []);
    }
    return undefined;
  }
}
