import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  ExecutionTerminateRequestSchema,
  WorkflowExecutionGetRequestSchema,
} from '../../proto/gen/platformidl/admin/execution_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { helloRequest, launchHello } from '../support/requests/hello.js';
import { PLACE, registerTask } from '../support/requests/registrations.js';
import { type RoleProcesses, startRoleProcesses } from '../support/processes/roles.js';
import { overGrpc, type Transport } from '../support/clients/transports.js';
import { until } from '../support/until.js';

const { method } = AdminService;
const LIMIT_MS = 120_000;
/** Executions of a round of launches. */
const LAUNCHES = 16;

let processes: RoleProcesses;
let apis: readonly Transport[];

/** The transports to the two API processes. */
const first = (): Transport => apis[0]!;
const other = (): Transport => apis[1]!;
const idOf = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });

/** The status of a GET of a path at a process. */
const probe = async (name: string, path: string): Promise<number> => {
  const answer = await fetch(`${processes.process(name).server().ready.http}${path}`);
  await answer.arrayBuffer();
  return answer.status;
};

beforeAll(async () => {
  // On one machine the views are a file that the projectors and the API processes share.
  processes = await startRoleProcesses(['api', 'api', 'projector', 'projector', 'reactor'], {
    env: { FLIGHTLOG_ABORT_TIMEOUT: '1s' },
  });
  apis = ['api-1', 'api-2'].map((name) => overGrpc(processes.process(name).server().ready));
  await register(first(), withNeeds('01-hello'));
}, LIMIT_MS);
afterAll(async () => {
  for (const api of apis) api.close();
  await processes.close();
}, LIMIT_MS);

describe('a control plane of processes with a role each', () => {
  it('prints the role of each process in its ready line, and serves gRPC only in API processes', () => {
    const lines = processes.parts.map((part) => part.server().ready);
    expect(lines.map(({ roles }) => roles)).toEqual([['api'], ['api'], ['projector'], ['projector'], ['reactor']]);
    expect(processes.log.roles).toEqual(['log']);
    expect(lines.map((ready) => 'grpc' in ready)).toEqual([true, true, false, false, false]);
  });

  it.each(['projector-1', 'reactor-1'])('answers health checks at %s, and RPCs with 501', async (name) => {
    expect(await probe(name, '/healthz')).toBe(200);
    expect(
      await until(
        () => probe(name, '/readyz'),
        (status) => status === 200,
      ),
    ).toBe(200);
    expect(await probe(name, '/api/v1/projects')).toBe(501);
  });

  it('shows a write of one API process through the other, to a caller that names its position', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [here, there] = round % 2 === 0 ? [first(), other()] : [other(), first()];
      const name = `positioned-${round}`;
      const { position } = await here.send(
        'CreateExecution',
        toBinary(method.createExecution.input, helloRequest(name)),
      );
      const request = create(WorkflowExecutionGetRequestSchema, { id: idOf(name) });
      const read = await there.send('GetExecution', toBinary(WorkflowExecutionGetRequestSchema, request), {
        'flightlog-min-position': position!,
      });
      expect(read.code).toBe('OK');
    }
  });

  it('lists an execution as soon as its launch is acknowledged, through the process that acknowledged it', async () => {
    for (const [turn, api] of [first(), other(), first(), other()].entries()) {
      await launchHello(api, `listed-${turn}`);
      const { executions } = await api.call(method.listExecutions, {
        id: { project: 'flytesnacks', domain: 'development' },
        limit: 100,
      });
      expect(executions.map(({ id }) => id?.name)).toContain(`listed-${turn}`);
    }
  });

  it('has the reactor abort a terminated execution that no engine ends', async () => {
    const id = await launchHello(first(), 'abandoned');
    await other().call(method.terminateExecution, create(ExecutionTerminateRequestSchema, { id, cause: 'enough' }));
    const phase = async (): Promise<Phase> =>
      (await first().call(method.getExecution, { id })).closure?.phase ?? Phase.UNDEFINED;
    expect(await until(phase, (seen) => seen === Phase.ABORTED)).toBe(Phase.ABORTED);
  });

  const launchRound = (round: string): Promise<unknown> =>
    Promise.all(Array.from({ length: LAUNCHES }, (_, at) => launchHello(first(), `${round}-${at}`)));
  /** The number of executions that the other process lists with a text and a dash in their names. */
  const listed = async (round: string): Promise<number> => {
    const { executions } = await other().call(method.listExecutions, {
      id: { project: 'flytesnacks', domain: 'development' },
      filters: `contains(name, ${round}-)`,
      limit: 100,
    });
    return executions.length;
  };

  it(
    'has the views written by one projector when the other is killed',
    async () => {
      await processes.process('projector-1').kill();
      await launchRound('taken-over');
      expect(
        await until(
          () => listed('taken-over'),
          (count) => count === LAUNCHES,
        ),
      ).toBe(LAUNCHES);
      await processes.process('projector-1').start();
    },
    LIMIT_MS,
  );

  it(
    'reads from the log while no projector runs, and lists what was written meanwhile when one is back',
    async () => {
      await expect(processes.process('projector-1').stop()).resolves.toBe(0);
      await expect(processes.process('projector-2').stop()).resolves.toBe(0);
      const id = await launchHello(first(), 'meanwhile-0');
      const { closure } = await first().call(method.getExecution, { id });
      expect(closure?.phase).toBe(Phase.QUEUED);
      // An execution that is not yet projected is found also by a process that did not acknowledge it.
      expect((await other().call(method.getExecution, { id })).closure?.phase).toBe(Phase.QUEUED);
      expect((await other().attempt(method.getExecution, { id: idOf('unknown') })).code).toBe('NOT_FOUND');
      await registerTask(first(), { name: 'large' }, ({ spec }) => {
        const { target } = spec!.template!;
        if (target.case === 'container') target.value.args.push('x'.repeat(100_000));
      });
      const task = { resourceType: ResourceType.TASK, ...PLACE, name: 'large', version: 'v1' };
      const payloads = join(processes.directory, 'data', 'payloads');
      renameSync(payloads, `${payloads}-elsewhere`);
      writeFileSync(payloads, 'in its place');
      expect((await other().attempt(method.getTask, { id: task })).code).toBe('UNAVAILABLE');
      rmSync(payloads);
      renameSync(`${payloads}-elsewhere`, payloads);
      expect((await other().attempt(method.getTask, { id: task })).code).toBe('OK');
      await processes.process('projector-2').start();
      await until(
        () => listed('meanwhile'),
        (count) => count === 1,
      );
      // The leases were released, so no process has to wait until they expire.
      await launchRound('given-back');
      expect(
        await until(
          () => listed('given-back'),
          (count) => count === LAUNCHES,
        ),
      ).toBe(LAUNCHES);
    },
    LIMIT_MS,
  );

  it(
    'loses no request of a client that tries once more while each process but the log server is restarted in turn',
    async () => {
      let isOver = false;
      let count = 0;
      // Fewer calls while a process starts, which needs the processor that they would take.
      let pauseMs = 0;
      const failed: string[] = [];
      /** Sends to both in turn; the second attempt goes to the other process, as with a load balancer. */
      const attempt = async (name: string, turn: number): Promise<string> => {
        const ask = (api: Transport) => api.attempt(method.createExecution, helloRequest(name));
        const once = await ask(turn % 2 === 0 ? first() : other());
        if (once.code === 'OK') return once.code;
        const { code, message } = await ask(turn % 2 === 0 ? other() : first());
        // After ALREADY_EXISTS, the client knows that its first attempt was recorded.
        return code === 'OK' || code === 'ALREADY_EXISTS' ? 'OK' : `${once.code}, ${code}: ${message}`;
      };
      const keepCalling = async (client: number): Promise<void> => {
        for (let turn = client; !isOver; turn += 1) {
          const answer = await attempt(`rolled-${client}-${turn}`, turn);
          count += 1;
          if (answer !== 'OK') failed.push(answer);
          if (pauseMs > 0) await sleep(pauseMs);
        }
      };
      const calling = [0, 1, 2, 3].map(keepCalling);
      for (const part of processes.parts) {
        const before = count;
        expect(await part.stop()).toBe(0);
        pauseMs = 50;
        await part.start();
        pauseMs = 0;
        // As with a load balancer, the client's connections notice only after a while that a process is back.
        for (const api of [first(), other()])
          await until(
            () => api.attempt(method.getVersion, {}),
            ({ code }) => code === 'OK',
          );
        await until(
          () => Promise.resolve(count),
          (calls) => calls >= before + 20, // far more than the four clients have in flight
        );
      }
      isOver = true;
      await Promise.all(calling);
      expect(failed).toEqual([]);
      const recorded = (await processes.events()).filter(
        ({ type, stream }) => type === 'ExecutionCreated' && stream.includes(':rolled-'),
      );
      expect(recorded).toHaveLength(count);
    },
    2 * LIMIT_MS,
  );
});
