import { expect, it } from 'vitest';
import { ask, objectPath } from '../../support/kubernetes/server.js';
import { startStandIn } from '../../support/kubernetes/stand-in.js';
import { until } from '../../support/until.js';
import { fixtureLaunch } from '../../unit/engine/bridge/launches.js';
import { bridgeContract } from './bridge.contract.js';

const hello = fixtureLaunch('01-hello');

bridgeContract('a stand-in for a Kubernetes API server', startStandIn, (get) => {
  it.each([429, 500, 'stall', 'lost'] as const)(
    'makes the object of a launch although the first answer is %s',
    async (fault) => {
      const { server, work } = get();
      server.fail('create', fault, 1);
      work.launch(`fault-${fault}`, hello);
      await until(
        () => Promise.resolve(work.received.filter((each) => each.case === 'accept').length),
        (count) => count === 1,
      );
      const { status } = await ask(server, 'GET', objectPath('flytesnacks-development', `fault-${fault}`));
      expect(status).toBe(200);
    },
  );

  it('fails an execution whose object the cluster refuses', async () => {
    const { server, work } = get();
    server.fail('create', 422, 1);
    work.launch('refused', hello);
    await until(
      () => Promise.resolve(work.received.find((each) => each.case === 'reject')),
      (found) => found !== undefined,
    );
    expect(work.received.find((each) => each.case === 'reject')?.value).toMatchObject({
      then: { case: 'fail', value: { code: 'ObjectRefused' } },
    });
  });
});
