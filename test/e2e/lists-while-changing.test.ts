import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Sort_Direction as Direction } from '../../proto/gen/platformidl/admin/common_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { helloRequest } from '../support/requests/hello.js';
import { allPages } from '../support/clients/lists.js';
import { workflowReport } from '../support/requests/reports.js';
import type { Transport } from '../support/clients/transports.js';

const { method } = AdminService;

const SCOPE = { project: 'flytesnacks', domain: 'staging' };
const ENDS = [Phase.SUCCEEDED, Phase.FAILED, Phase.ABORTED] as const;
/** The number of times that each test reads all pages. */
const READINGS = 6;
/** The maximum number of executions that each launcher launches while lists are read. */
const MAX_LAUNCHES = 120;

type Ended = ReadonlyMap<string, Phase>;

let plane: ControlPlane;
/** The executions whose end has been acknowledged. */
const ended = new Map<string, Phase>();
let isOver = false;
/** The launchers at work. */
let busy: Promise<unknown> = Promise.resolve();

/** Launches an execution and reports it to this end. */
const runToEnd = async (name: string, end: Phase): Promise<void> => {
  const request = helloRequest(name, (each) => {
    each.domain = SCOPE.domain;
  });
  await plane.grpc.call(method.createExecution, request);
  for (const phase of [Phase.RUNNING, end]) {
    const report = workflowReport({ ...SCOPE, name }, { phase });
    await plane.grpc.call(method.createWorkflowEvent, report);
  }
  ended.set(name, end);
};

/** Launches executions one after another and ends each, until the lists have been read or the maximum is reached. */
const keepLaunching = async (launcher: number): Promise<void> => {
  for (let count = 0; !isOver && count < MAX_LAUNCHES; count += 1)
    await runToEnd(`run-${launcher}-${count}`, ENDS[(launcher + count) % ENDS.length]!);
};

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  await Promise.all(Array.from({ length: 30 }, (_, i) => runToEnd(`early-${i}`, ENDS[i % ENDS.length]!)));
  busy = Promise.all([0, 1, 2].map(keepLaunching));
});
afterAll(async () => {
  isOver = true;
  await busy;
  await plane.close();
});

/** Filters, each with the function that says which phases it lets through. */
const FILTERS: readonly (readonly [string, (phase: Phase) => boolean])[] = [
  ['', () => true],
  ['value_in(phase,SUCCEEDED;ABORTED)', (phase) => phase !== Phase.FAILED],
  ['value_not_in(phase,SUCCEEDED;ABORTED)', (phase) => phase === Phase.FAILED],
  ['ne(phase,FAILED)', (phase) => phase !== Phase.FAILED],
  ['eq(phase,SUCCEEDED)', (phase) => phase === Phase.SUCCEEDED],
  ['contains(phase,ED)+ne(mode,1)', () => true],
];

/**
 * Checks the listed executions: those that had ended before are listed exactly when their phase fits; later ones may
 * have ended by now.
 */
const expectEachOnce = (seen: readonly string[], before: Ended, fits: (phase: Phase) => boolean): void => {
  expect(seen).toHaveLength(new Set(seen).size);
  const expected = [...before].filter(([, phase]) => fits(phase)).map(([name]) => name);
  expect(seen.filter((name) => before.has(name)).sort()).toEqual(expected.sort());
};

/** Reads all pages of `limit` executions, and returns the names in their order. */
const readPages = async (
  transport: Transport,
  filters: string,
  isAscending: boolean,
  limit: number,
): Promise<string[]> => {
  const sortBy = { key: 'created_at', direction: isAscending ? Direction.ASCENDING : Direction.DESCENDING };
  const elements = await allPages(async (token) => {
    const page = await transport.call(method.listExecutions, { id: SCOPE, limit, token, filters, sortBy });
    return { elements: page.executions, token: page.token };
  });
  return elements.map(({ id }) => id?.name ?? '');
};

describe.each(['grpc', 'rest'] as const)('while executions are launched and end, over %s', (transport) => {
  it.each(FILTERS)(
    'those that had ended before and match are in the pages of filter «%s» once',
    async (filters, fits) => {
      for (let turn = 0; turn < READINGS; turn += 1) {
        const before = new Map(ended);
        expectEachOnce(await readPages(plane[transport], filters, turn % 2 === 0, 3 + 4 * turn), before, fits);
      }
    },
  );
});
