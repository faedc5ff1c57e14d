import fc from 'fast-check';

import { ExecutionError_ErrorKind } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { ReportPhase } from '../../../services/execution/commands.js';
import { NODE, TASK, WORKFLOW } from '../../../services/execution/phases.js';
import { id, node, task, taskId, workflow } from '../execution/reports.js';

/**
 * A report of an engine about one subject (`of`). `command(true)` is the same report, with its maps in another order.
 */
export type DrawnReport = {
  /** `execution`, the id of a node, or `<node id>/<attempt>`. */
  readonly of: string;
  /** A readable form for failure messages. */
  readonly what: object;
  readonly command: (isReversed?: boolean) => ReportPhase;
};

type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly Value[]
  | { readonly [key: string]: Value };

/** The same value, with the entries of its maps in reverse order. */
const reversed = <Part extends Value>(value: Part): Part => {
  if (Array.isArray(value)) return value.map(reversed) as unknown as Part;
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, reversed(inner)] as const);
  return Object.fromEntries(entries.reverse()) as Part;
};

const phaseOf = <Phases extends object>(phases: Phases) =>
  fc.constantFrom(
    ...(Object.keys(phases).filter((name) => Number.isNaN(Number(name)) && name !== 'UNDEFINED') as (keyof Phases)[]),
  );

const maybe = <Part>(part: fc.Arbitrary<Part>): fc.Arbitrary<Part | undefined> => fc.option(part, { nil: undefined });
const text = fc.constantFrom('a', 'b', 'c');
const seconds = fc.nat(30);
const instant = seconds.map((count) => ({ seconds: BigInt(1_700_000_000 + count) }));

const literal = text.map((value) => ({
  value: {
    case: 'scalar',
    value: { value: { case: 'primitive', value: { value: { case: 'stringValue', value } } } },
  },
}));
const literals = fc.dictionary(text, literal, { noNullPrototype: true }).map((each) => ({ literals: each }));

const inputs = {
  inputValue: maybe(
    fc.oneof(
      text.map((value) => ({ case: 'inputUri', value: `s3://in/${value}` })),
      literals.map((value) => ({ case: 'inputData', value })),
    ),
  ),
};
const outputs = {
  outputResult: maybe(
    fc.oneof(
      text.map((value) => ({ case: 'outputUri', value: `s3://out/${value}` })),
      literals.map((value) => ({ case: 'outputData', value })),
      text.map((message) => ({ case: 'error', value: { code: 'E', message, kind: ExecutionError_ErrorKind.USER } })),
    ),
  ),
};

const flag = fc.boolean();
const catalogKey = text.map((name) => ({ datasetId: { name } }));
const dynamicWorkflow = fc.record({
  id: fc.constant(taskId),
  compiledWorkflow: fc.constant({ primary: { template: { id: taskId } } }),
  dynamicJobSpecUri: fc.constantFrom('', 's3://spec/a', 's3://spec/b'),
});
const taskNodeMetadata = fc
  .record({
    cacheStatus: fc.nat(6),
    catalogKey: maybe(catalogKey),
    checkpointUri: fc.constantFrom('', 's3://check/a', 's3://check/b'),
    dynamicWorkflow: maybe(dynamicWorkflow),
  })
  .map((value) => ({ case: 'taskNodeMetadata', value }));
const workflowNodeMetadata = text.map((name) => ({
  case: 'workflowNodeMetadata',
  value: { executionId: { ...id, name } },
}));

const log = fc.record({
  name: fc.constantFrom('', 'x', 'y'),
  uri: fc.constantFrom('http://1', 'http://2', 'http://3'),
});
const logs = fc.array(
  fc.record({ ...{ log }, ShowWhilePending: flag, HideOnceFinished: flag }).map(({ log: link, ...more }) => ({
    ...link,
    ...more,
  })),
  { maxLength: 2 },
);
const info = fc.oneof(text, fc.constant(null), fc.nat(3));
const customInfo = fc.record(
  { a: info, b: info, inner: fc.record({ x: info, y: info }, { requiredKeys: [], noNullPrototype: true }) },
  { requiredKeys: [], noNullPrototype: true },
);
const logContext = text.map((primaryPodName) => ({ primaryPodName }));
const resource = fc.record({
  externalId: fc.constantFrom('', 'job-1', 'job-2'),
  index: fc.nat(1),
  retryAttempt: fc.nat(1),
  phase: fc.nat(8),
  cacheStatus: fc.nat(3),
  logs,
  customInfo: maybe(customInfo),
  logContext: maybe(logContext),
});
const metadata = fc.record({
  generatedName: fc.constantFrom('', 'pod-1', 'pod-2'),
  pluginIdentifier: fc.constantFrom('', 'container', 'spark'),
  instanceClass: fc.nat(1),
  externalResources: fc.array(resource, { maxLength: 3 }),
});
const reason = fc.record({ reason: text, occurredAt: instant });

const withoutUnset = (event: object): object =>
  Object.fromEntries(Object.entries(event).filter(([, value]) => value !== undefined));

/** A report about `of`; `make` makes its command from the fields of the event. */
const drawnReport = (of: string, phase: string, make: (more: never) => ReportPhase, event: object): DrawnReport => ({
  of,
  what: { phase, ...event },
  command: (isReversed = false) => make((isReversed ? reversed(event as Value) : event) as never),
});

/** Reports of the execution. */
const workflowReport = (phases: fc.Arbitrary<keyof typeof WORKFLOW> = phaseOf(WORKFLOW)): fc.Arbitrary<DrawnReport> =>
  fc
    .tuple(phases, fc.record({ second: seconds, ...outputs }))
    .map(([phase, event]) => drawnReport('execution', phase, (more) => workflow(phase, more), withoutUnset(event)));

/** The fields of an event of a node that has a task or a child execution. */
const nodeEvent = (kind: 'task' | 'child') =>
  fc.record({
    second: seconds,
    reportedAt: maybe(instant),
    ...inputs,
    ...outputs,
    deckUri: fc.constantFrom('', 's3://deck/a', 's3://deck/b'),
    isParent: flag,
    isDynamic: flag,
    isArray: flag,
    isEager: flag,
    retryGroup: text,
    specNodeId: text,
    targetMetadata: maybe<object>(kind === 'task' ? taskNodeMetadata : workflowNodeMetadata),
  });

/** Reports of a node, whose place in the tree is always the same. */
const nodeReport = (name: string, kind: 'task' | 'child', place: object = {}): fc.Arbitrary<DrawnReport> =>
  fc
    .tuple(phaseOf(NODE), nodeEvent(kind))
    .map(([phase, event]) =>
      drawnReport(name, phase, (more) => node(phase, more), { ...withoutUnset(event), ...place, node: name }),
    );

/** The fields of an event of an attempt of a task. */
const taskEvent = fc.record({
  second: seconds,
  version: fc.nat(2),
  reportedAt: maybe(instant),
  ...inputs,
  ...outputs,
  logs,
  customInfo: maybe(customInfo),
  metadata: maybe(metadata),
  reasons: fc.array(reason, { maxLength: 2 }),
  reason: fc.constantFrom('', 'a', 'b'),
  logContext: maybe(logContext),
  eventVersion: fc.nat(2),
  taskType: fc.constant('python'),
});

/** Reports of an attempt of the task of a node. */
const attemptReport = (name: string, attempt: number): fc.Arbitrary<DrawnReport> =>
  fc.tuple(phaseOf(TASK), taskEvent).map(([phase, event]) =>
    drawnReport(`${name}/${attempt}`, phase, (more) => task(phase, more), {
      ...withoutUnset(event),
      node: name,
      attempt,
    }),
  );

const parentTaskMetadata = { id: { taskId, nodeExecutionId: { nodeId: 'n0', executionId: id }, retryAttempt: 0 } };

/** The reports of every node and attempt, with the subject that must have been reported before. */
const TREE: readonly (readonly [fc.Arbitrary<DrawnReport>, string | undefined])[] = [
  [nodeReport('n0', 'task'), undefined],
  [nodeReport('n1', 'child'), undefined],
  [nodeReport('inside', 'task', { parentNodeMetadata: { nodeId: 'n0' } }), 'n0'],
  [nodeReport('made', 'task', { parentTaskMetadata }), 'n0/0'],
  [attemptReport('n0', 0), 'n0'],
  [attemptReport('n0', 1), 'n0'],
  [attemptReport('inside', 0), 'inside'],
];

/** Any reports in any order. `size` makes long sequences likely: short ones have few repeated reports. */
export const anyReports: fc.Arbitrary<readonly DrawnReport[]> = fc.array(
  fc.oneof(workflowReport(), ...TREE.map(([report]) => ({ arbitrary: report, weight: 2 }))),
  { maxLength: 40, size: 'max' },
);

const OPEN = ['QUEUED', 'RUNNING', 'SUCCEEDING', 'FAILING'] as const;
const ENDS = ['SUCCEEDED', 'FAILED', 'ABORTED', 'TIMED_OUT'] as const;

/** A list of reports of the execution, none of which ends it, then a list for each row of `TREE`. */
export const reportsBySubject: fc.Arbitrary<readonly (readonly DrawnReport[])[]> = fc.tuple(
  fc.array(workflowReport(fc.constantFrom(...OPEN)), { maxLength: 5 }),
  ...TREE.map(([report]) => fc.array(report, { maxLength: 6 })),
);

/** A report that ends the execution. */
export const endReport: fc.Arbitrary<DrawnReport> = workflowReport(fc.constantFrom(...ENDS));

/**
 * One interleaving of the lists of {@link reportsBySubject}, as the random numbers choose: the reports of a subject
 * stay in their order, and none comes before the first report of its parent. Reports of a subject whose parent has no
 * report are left out.
 */
export const interleaved = (
  parts: readonly (readonly DrawnReport[])[],
  randomNumber: () => number,
): readonly DrawnReport[] => {
  const remaining = parts.map((part) => [...part]);
  const begun = new Set<string | undefined>([undefined]);
  const order: DrawnReport[] = [];
  for (;;) {
    const eligible = remaining.filter(
      (part, at) => part.length > 0 && begun.has(at === 0 ? undefined : TREE[at - 1]![1]),
    );
    const next = eligible[randomNumber() % Math.max(eligible.length, 1)]?.shift();
    if (next === undefined) return order;
    begun.add(next.of);
    order.push(next);
  }
};
