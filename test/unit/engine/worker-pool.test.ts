import { create } from '@bufbuild/protobuf';
import { expect, it, vi } from 'vitest';
import { ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { createActiveExecutions, executionKey } from '../../../engine/active-executions.js';
import { createRetries } from '../../../engine/retries.js';
import { createWorkerPool } from '../../../engine/worker-pool.js';

const PARENT = { project: 'p', domain: 'd', name: 'parent' };
const CHILD = { project: 'p', domain: 'd', name: 'child' };
const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };

it('an execution that is offered again without its parent still wakes the parent at its end', async () => {
  const active = createActiveExecutions();
  const wake = vi.fn();
  active.add(executionKey(PARENT)).wake = wake;
  const pool = { active, retries: createRetries(logger), capacity: 2, onEnd: () => undefined };
  const workers = createWorkerPool({ ...pool, walk: () => Promise.resolve() });
  const parentNodeExecution = { nodeId: 'n0', executionId: PARENT };
  workers.offer(create(ExecutionSchema, { id: CHILD, spec: { metadata: { parentNodeExecution } } }));
  workers.offer(create(ExecutionSchema, { id: CHILD }));
  workers.fill();
  await workers.settled();
  expect(wake).toHaveBeenCalledTimes(1);
});
