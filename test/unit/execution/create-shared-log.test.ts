import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { type ControlPlane, openControlPlane } from './control-plane.js';

const place = { project: 'flytesnacks', domain: 'development' };
const launchPlan = { ...place, resourceType: ResourceType.LAUNCH_PLAN, name: 'hello.hello', version: 'v1' };

describe('a create on a log that other processes write too', () => {
  let plane: ControlPlane;
  /** The calls that commands made to the log, in order; each is a round trip. */
  let calls: string[];

  const counting = (store: EventStore): EventStore => ({
    ...store,
    append: (...given) => (calls.push('append'), store.append(...given)),
    readStream: (...given) => (calls.push(`read ${given[0]}`), store.readStream(...given)),
  });

  beforeEach(async () => {
    calls = [];
    plane = await openControlPlane(['01-hello'], [], { shared: counting });
  });

  afterEach(() => plane.close());

  const launch = (name: string, version = 'v1') =>
    plane.send('createExecution', { ...place, name, spec: { launchPlan: { ...launchPlan, version } } });

  it('waits for one round trip to the log when its version was launched before', async () => {
    await launch('first');
    calls = [];
    await launch('second');
    expect(calls).toEqual(['append']);
  });

  it('reads the stream of the launch plan for a version that is not known', async () => {
    await launch('first');
    calls = [];
    await expect(launch('second', 'v2')).rejects.toThrow(/v2/u);
    expect(calls).toEqual(['read launchPlan-flytesnacks:development:hello.hello']);
  });
});
