import { CatalogCacheStatus } from '../../../proto/gen/platformidl/core/catalog_pb.js';
import type {
  NodeExecutionEvent,
  TaskExecutionEvent,
  WorkflowExecutionEvent,
} from '../../../proto/gen/platformidl/event/event_pb.js';
import type { TaskExecution } from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import type { Execution } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';

/**
 * The facts that events carry and a view must still have, by a name for each independent fact. Computed from the
 * messages alone, so that an error in a fold does not hide in its test.
 */
export type Facts = Map<string, unknown>;

/** Sets a fact, unless the value is empty or 0: the last value of several events counts. */
const setLast = (facts: Facts, name: string, value: unknown): void => {
  if (value !== undefined && value !== '' && value !== 0) facts.set(name, value);
};
/** Sets a fact that is not set yet: the first value of several events counts. */
const setFirst = (facts: Facts, name: string, value: unknown): void => {
  if (!facts.has(name)) setLast(facts, name, value);
};
/** Sets a fact that is true as soon as one event says so. */
const setTrue = (facts: Facts, name: string, value: boolean): void => {
  if (value) facts.set(name, true);
};

/** Sets a fact for each leaf of a JSON object, named by its path; members that the object does not have stay. */
const setLeaves = (facts: Facts, name: string, info: unknown): void => {
  const isObject = typeof info === 'object' && info !== null;
  for (const key of facts.keys()) if (key === name || (!isObject && key.startsWith(`${name}.`))) facts.delete(key);
  if (isObject) for (const [key, value] of Object.entries(info)) setLeaves(facts, `${name}.${key}`, value);
  else if (info !== null && info !== undefined) facts.set(name, info);
};

/** Removes the facts whose names begin with the prefix. */
const removeFacts = (facts: Facts, prefix: string): void => {
  for (const key of facts.keys()) if (key.startsWith(prefix)) facts.delete(key);
};

/** Sets the result: that of an event with a new phase counts; another event only adds one that is missing. */
const setResult = (
  facts: Facts,
  { case: kind, value }: TaskExecutionEvent['outputResult'],
  isNewPhase: boolean,
): void => {
  if (kind !== undefined && (isNewPhase || !facts.has('result'))) facts.set('result', { kind, value });
};

type Logs = TaskExecutionEvent['logs'];

/** Adds the log links of an event. They replace the links of earlier events with the same URI or name. */
const setLogs = (facts: Facts, prefix: string, logs: Logs): void => {
  for (const { uri, name } of logs)
    for (const [key, known] of facts)
      if (key.startsWith(prefix) && ((known as Logs[0]).uri === uri || (name && (known as Logs[0]).name === name)))
        facts.delete(key);
  for (const log of logs) facts.set(`${prefix}${log.uri} ${log.name}`, log);
};

/** Sets the facts of the external resources of an attempt, each by its index and its attempt. */
const setResources = (facts: Facts, { metadata }: TaskExecutionEvent): void => {
  for (const each of metadata?.externalResources ?? []) {
    const name = `resource ${each.index}/${each.retryAttempt}`;
    facts.set(`${name} phase`, each.phase);
    setLast(facts, `${name} id`, each.externalId);
    setLast(facts, `${name} cache`, each.cacheStatus);
    setLast(facts, `${name} context`, each.logContext);
    setLogs(facts, `${name} log `, each.logs);
    if (each.customInfo) {
      removeFacts(facts, `${name} info`);
      setLeaves(facts, `${name} info`, each.customInfo);
    }
  }
};

/** Adds the event's reasons; the single `reason` of older engines counts when it differs from the last one known. */
const addReasons = (facts: Facts, event: TaskExecutionEvent): void => {
  const reasons = event.reasons.map(({ reason }) => reason);
  if (reasons.length === 0 && event.reason !== '' && event.reason !== facts.get('reason')) reasons.push(event.reason);
  const known = [...facts.keys()].filter((key) => key.startsWith('reason ')).length;
  for (const [at, reason] of reasons.entries()) facts.set(`reason ${known + at}`, reason);
  setLast(facts, 'reason', reasons.at(-1));
};

/** Sets the facts of an event that later events replace. */
const addDetails = (facts: Facts, event: TaskExecutionEvent): void => {
  setLogs(facts, 'log ', event.logs);
  setResources(facts, event);
  if (event.customInfo) setLeaves(facts, 'info', event.customInfo);
  setLast(facts, 'generated name', event.metadata?.generatedName);
  setLast(facts, 'plugin', event.metadata?.pluginIdentifier);
  setLast(facts, 'instance', event.metadata?.instanceClass);
  setLast(facts, 'context', event.logContext);
};

/** The events of an attempt in the order in which they count, and the newest version of the current phase. */
type Ordered = { readonly events: TaskExecutionEvent[]; version: number };
const ordered = new WeakMap<Facts, Ordered>();
/** The names of the facts that {@link addDetails} sets. */
const DETAILS = /^(?:log |resource |info|generated name$|plugin$|instance$|context$)/u;

/** Sets the details from all events so far. A report of the current phase with an older version counts first. */
const setDetails = (facts: Facts, event: TaskExecutionEvent, isNewPhase: boolean): void => {
  const order = ordered.get(facts) ?? { events: [], version: 0 };
  ordered.set(facts, order);
  if (isNewPhase || event.phaseVersion >= order.version) order.events.push(event);
  else order.events.unshift(event);
  if (isNewPhase) order.version = event.phaseVersion;
  for (const key of facts.keys()) if (DETAILS.test(key)) facts.delete(key);
  const own: Facts = new Map();
  for (const each of order.events) addDetails(own, each);
  for (const [key, value] of own) facts.set(key, value);
};

/**
 * Adds the facts of one more event about a task attempt. `isNewPhase` is false when the event repeats the current phase
 * without a higher version.
 */
export const addTaskFacts = (facts: Facts, event: TaskExecutionEvent, isNewPhase: boolean): void => {
  if (event.inputValue.case === 'inputUri') setFirst(facts, 'input', event.inputValue.value);
  setResult(facts, event.outputResult, isNewPhase);
  setDetails(facts, event, isNewPhase);
  facts.set('version', Math.max(Number(facts.get('version') ?? 0), event.eventVersion));
  addReasons(facts, event);
};

/** The facts in the document of a task execution. */
export const taskFacts = ({ inputUri, closure }: TaskExecution): Facts => {
  const facts: Facts = new Map();
  const { logs, customInfo, metadata, reasons, reason, outputResult } = closure!;
  setLast(facts, 'input', inputUri);
  setResult(facts, outputResult, true);
  for (const log of logs) facts.set(`log ${log.uri} ${log.name}`, log);
  for (const each of metadata?.externalResources ?? []) {
    const name = `resource ${each.index}/${each.retryAttempt}`;
    facts.set(`${name} phase`, each.phase);
    setLast(facts, `${name} id`, each.externalId);
    setLast(facts, `${name} cache`, each.cacheStatus);
    setLast(facts, `${name} context`, each.logContext);
    for (const log of each.logs) facts.set(`${name} log ${log.uri} ${log.name}`, log);
    setLeaves(facts, `${name} info`, each.customInfo);
  }
  setLeaves(facts, 'info', customInfo);
  setLast(facts, 'generated name', metadata?.generatedName);
  setLast(facts, 'plugin', metadata?.pluginIdentifier);
  setLast(facts, 'instance', metadata?.instanceClass);
  setLast(facts, 'context', closure!.logContext);
  facts.set('version', closure!.eventVersion);
  for (const [at, { message }] of reasons.entries()) facts.set(`reason ${at}`, message);
  setLast(facts, 'reason', reason);
  return facts;
};

/** Adds the facts of one more event about a node. `isNewPhase` is false when the event repeats the current phase. */
export const addNodeFacts = (facts: Facts, event: NodeExecutionEvent, isNewPhase: boolean): void => {
  for (const name of ['isParent', 'isDynamic', 'isArray', 'isEager'] as const) setTrue(facts, name, event[name]);
  if (event.inputValue.case === 'inputUri') setFirst(facts, 'input', event.inputValue.value);
  setResult(facts, event.outputResult, isNewPhase);
  setLast(facts, 'deck', event.deckUri);
  setFirst(facts, 'retry group', event.retryGroup);
  setFirst(facts, 'spec node', event.specNodeId);
  const { case: kind, value } = event.targetMetadata;
  if (kind === 'workflowNodeMetadata') setFirst(facts, 'child', value.executionId);
  if (kind !== 'taskNodeMetadata') return;
  setLast(facts, 'checkpoint', value.checkpointUri);
  setLast(facts, 'cache key', value.catalogKey);
  if (value.cacheStatus !== CatalogCacheStatus.CACHE_DISABLED || value.catalogKey)
    facts.set('cache', value.cacheStatus);
  setLast(facts, 'dynamic job', value.dynamicWorkflow?.dynamicJobSpecUri);
};

/** The facts in the document of a node execution. */
export const nodeFacts = ({ inputUri, closure, metadata }: NodeExecution): Facts => {
  const facts: Facts = new Map();
  setTrue(facts, 'isParent', metadata!.isParentNode);
  for (const name of ['isDynamic', 'isArray', 'isEager'] as const) setTrue(facts, name, metadata![name]);
  setLast(facts, 'input', inputUri);
  setResult(facts, closure!.outputResult, true);
  setLast(facts, 'deck', closure!.deckUri);
  setLast(facts, 'retry group', metadata!.retryGroup);
  setLast(facts, 'spec node', metadata!.specNodeId);
  setLast(facts, 'dynamic job', closure!.dynamicJobSpecUri);
  const { case: kind, value } = closure!.targetMetadata;
  if (kind === 'workflowNodeMetadata') setLast(facts, 'child', value.executionId);
  if (kind !== 'taskNodeMetadata') return facts;
  setLast(facts, 'checkpoint', value.checkpointUri);
  setLast(facts, 'cache key', value.catalogKey);
  facts.set('cache', value.cacheStatus);
  return facts;
};

/** Adds the facts of one more event about the execution itself. `isNewPhase` is false for a repeated phase. */
export const addExecutionFacts = (facts: Facts, event: WorkflowExecutionEvent, isNewPhase: boolean): void => {
  const { outputResult: result } = event;
  if (result.case === undefined || (!isNewPhase && facts.has('result'))) return;
  const value = result.case === 'outputUri' ? { data: { case: 'uri', value: result.value } } : result.value;
  facts.set('result', value);
};

/** The facts in the document of an execution. */
export const executionFacts = ({ closure }: Execution): Facts => new Map([['result', closure!.outputResult.value]]);
