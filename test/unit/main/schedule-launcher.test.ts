import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { InactiveProjectSchema } from '../../../proto/gen/platformidl/admin/project_pb.js';
import { RpcError } from '../../../services/kernel/rpc.js';
import type { Launching } from '../../../services/main/launching.js';
import { launcherOf } from '../../../services/main/reactors/schedules.js';
import { tickName } from '../../../services/schedule/calendar/tick-name.js';

const PLAN = { project: 'p', domain: 'd', name: 'nightly' };
const TICK = { plan: PLAN, version: 'v1', atMs: 60_000, principal: 'ada' };
/** The execution of the tick; its name follows from the launch plan and the time. */
const execution = { ...PLAN, name: tickName({ ...PLAN, version: 'v1' }, TICK.atMs) };

const archived = new RpcError('INVALID_ARGUMENT', 'project p is not active', [
  { schema: InactiveProjectSchema, message: create(InactiveProjectSchema, { id: 'p' }) },
]);

/** A control plane that refuses every launch in the project; the execution of the tick exists or not. */
const launcherWhere = (exists: boolean, refusal: RpcError) =>
  launcherOf({
    definitions: { launchPlan: () => Promise.resolve(undefined) },
    services: {
      aggregate: {},
      sessions: {
        read: (_aggregate: object, _stream: string, look: (seen: object) => unknown) =>
          Promise.resolve(look({ state: { exists } })),
      },
      projects: { check: () => Promise.resolve(refusal) },
    },
  } as unknown as Launching);

describe('the launch of a tick that is refused', () => {
  it.each([
    [archived, { kind: 'skipped', reason: 'archived' }],
    [new RpcError('NOT_FOUND', 'no such project'), { kind: 'failed', reason: 'no such project' }],
  ])('is skipped or failed when the tick has no execution: %s', async (refusal, outcome) => {
    expect(await launcherWhere(false, refusal).launch(TICK)).toEqual(outcome);
  });

  it('is fired when a process launched it and ended before it recorded that, though the project is archived now', async () => {
    expect(await launcherWhere(true, archived).launch(TICK)).toEqual({ kind: 'fired', execution });
  });
});
