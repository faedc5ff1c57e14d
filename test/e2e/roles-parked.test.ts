import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { helloRequest, literal } from '../support/requests/hello.js';
import { untilCheck } from '../support/processes/health.js';
import {
  ASKED,
  fillStreams,
  KINDS,
  launchOf,
  type ParkedText,
  plan,
  poison,
  PROJECTS,
} from '../support/streams/poisoned-streams.js';
import { LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { OperationsService } from '../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { ReactorService } from '../../proto/gen/platformidl/eventlog/reactor_service_pb.js';
import { flightlog } from '../support/processes/command.js';
import { workflowReport } from '../support/requests/reports.js';
import { type RoleProcesses, startRoleProcesses } from '../support/processes/roles.js';
import { overGrpc, overRest, type Transport } from '../support/clients/transports.js';
import { until } from '../support/until.js';

const { method } = AdminService;
const LIMIT_MS = 120_000;

let processes: RoleProcesses;
let api: Transport;
let parked: ParkedText;

const httpOf = (part: string): string => processes.process(part).server().ready.http;

const connect = (): void => {
  (api as Transport | undefined)?.close();
  api = overGrpc(processes.process('api-1').server().ready);
};

beforeAll(async () => {
  processes = await startRoleProcesses(['api', 'projector', 'reactor'], { env: { FLIGHTLOG_PROJECTS: PROJECTS } });
  connect();
  await fillStreams(api);
  parked = await poison(processes.log.address);
}, LIMIT_MS);
afterAll(async () => {
  api.close();
  await processes.close();
}, LIMIT_MS);

describe.each(['running when', 'started after'])(
  'processes of a role each, %s an event that they cannot read was recorded',
  (when) => {
    beforeAll(async () => {
      if (when !== 'started after') return;
      await Promise.all(processes.parts.map((part) => part.kill()));
      await Promise.all(processes.parts.map((part) => part.start()));
      connect();
    }, LIMIT_MS);

    it.each(
      KINDS.flatMap((kind) =>
        (['project', 'attributes', 'launchPlanSlots'] as const).map((each) => [kind, each] as const),
      ),
    )('answer launches that need it UNAVAILABLE, with the stream and the position (%s, %s)', async (kind, category) => {
      const answer = await until(
        () => ASKED[category](api, kind),
        ({ code }) => code === 'UNAVAILABLE',
      );
      expect(answer.message).toContain(parked(category, kind));
    });

    it('are ready, and say by role what is parked', async () => {
      const reason = async (part: string) => {
        const { ready, checks } = await untilCheck(httpOf(part), 'parked', 'degraded');
        expect(ready).toBe(true);
        return checks['parked']?.why;
      };
      expect(await reason('api-1')).toContain('project-closed-');
      expect(await reason('projector-1')).toMatch(/streams that the views have parked: [1-9]/u);
      // A reactor reads projects and attributes too, for scheduled launches. The text names only three streams.
      expect(await reason('reactor-1')).toMatch(/streams that this process cannot read: [1-9]\d* \(/u);
    });

    it('serve all other streams: commands, views and slots', async () => {
      const name = `goes-on-${when.replace(' ', '-')}`;
      const id = { project: 'flytesnacks', domain: 'development', name };
      await api.call(method.createLaunchPlan, plan(`hello.${name}`, 1));
      expect((await launchOf(api, name, `hello.${name}`)).code).toBe('OK');
      await api.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.FAILED }));
      await until(
        async () => (await api.call(method.getExecution, { id })).closure?.phase,
        (phase) => phase === Phase.FAILED,
      );
      // No request needs the slot; the reactor releases it.
      await until(
        async () => (await processes.events()).filter(({ stream }) => stream.endsWith(`hello.${name}`)),
        (events) => events.some(({ type }) => type === 'SlotReleased'),
      );
    });
  },
);

describe('a process that writes no views', () => {
  const name = 'without-its-inputs';
  const stream = `execution-flytesnacks:development:${name}`;
  const folder = (): string => join(processes.directory, 'data/payloads/runs/flytesnacks/development', name);
  const rest = (): Transport => overRest({ http: httpOf('api-1') });
  /** The parked stream as it is listed; undefined when it is not parked. */
  const listed = async (transport: Transport) =>
    (await transport.call(OperationsService.method.listParkedStreams, { limit: 1_000 })).streams.find(
      (each) => each.stream === stream,
    );

  it('can have a stream that the views have parked retried, which succeeds once its payload is back', async () => {
    await processes.process('projector-1').kill();
    const request = helloRequest(name, ({ inputs }) => {
      inputs!.literals['name'] = create(LiteralSchema, literal('x'.repeat(100_000)));
    });
    await api.call(method.createExecution, request);
    renameSync(folder(), `${folder()}.away`);
    await processes.process('projector-1').start();
    const found = await until(
      () => listed(api),
      (each) => each?.inViews === true,
    );
    expect(found).toMatchObject({ reason: expect.stringContaining('is missing') as string });
    expect(found?.retryRequestedAt).toBeUndefined();

    await rest().call(OperationsService.method.retryParkedStream, { stream });
    expect((await listed(api))?.retryRequestedAt).toBeDefined();
    expect(await listed(rest())).toMatchObject({ inViews: true });

    renameSync(`${folder()}.away`, folder());
    await flightlog(['parked-stream', 'retry', stream, '--server', httpOf('api-1')]).ended;
    await until(
      () => listed(api),
      (each) => each === undefined,
    );
    expect(
      (await api.call(method.getExecution, { id: { project: 'flytesnacks', domain: 'development', name } })).id,
    ).toMatchObject({ name });
    const printed = await flightlog(['parked-stream', 'list', '--server', httpOf('api-1')]).ended;
    expect(printed.stdout).toContain('execution-flytesnacks:development:run-corrupt');
    expect(printed.stdout).not.toContain(stream);
  });

  it('answers NOT_FOUND to a retry of a stream that does not exist, over gRPC and REST', async () => {
    for (const way of [api, rest()])
      expect(
        await way.attempt(OperationsService.method.retryParkedStream, { stream: 'execution-a:b:c' }),
      ).toMatchObject({ code: 'NOT_FOUND', message: 'there is no stream execution-a:b:c' });
  });
});

describe('a process that runs no reactor', () => {
  const NAME = 'release-slots';
  /** The reactor as it is listed. */
  const reactor = async () =>
    (await api.call(ReactorService.method.listReactors, { reactor: NAME })).reactors.find(({ name }) => name === NAME);

  it('shows where a reactor runs and its dead letters, and has one retried and skipped', async () => {
    const isKnown = (found: Awaited<ReturnType<typeof reactor>>): boolean =>
      found !== undefined && found.deadLetters.length > 0 && found.worker !== '';
    const { worker, deadLetters } = (await until(reactor, isKnown))!;
    expect(worker).toContain(`/${processes.process('reactor-1').server().child.pid}/`);
    const { letter } = deadLetters[0]!;
    expect(letter).toMatchObject({ parked: true, reason: expect.stringContaining('is parked at position') as string });

    const answer = await api.attempt(ReactorService.method.retryDeadLetter, {
      reactor: NAME,
      position: letter!.position,
    });
    expect(answer.code).toBe('OK');
    const types = async () =>
      (await processes.events()).filter(({ stream }) => stream === `deadLetter-:${NAME}`).map(({ type }) => type);
    await until(types, (found) => found.lastIndexOf('DeadLetterRecorded') > found.indexOf('DeadLetterRetryRequested'));

    const toServer = ['--server', httpOf('api-1')];
    await flightlog(['reactor', 'skip', NAME, letter!.position.toString(), ...toServer]).ended;
    const printed = await flightlog(['reactor', 'list', ...toServer]).ended;
    expect(printed.stdout).toContain(NAME);
    expect(printed.stdout).not.toContain(`  ${letter!.position}  `);
    expect(
      (await api.attempt(ReactorService.method.retryDeadLetter, { reactor: NAME, position: letter!.position })).code,
    ).toBe('NOT_FOUND');
  });
});
