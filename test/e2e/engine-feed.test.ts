import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { create, toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { WorkflowExecutionGetRequestSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import type { WorkLaunch } from '../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { runEngine } from '../../engine/engine.js';
import type { EngineOptions } from '../../engine/options.js';
import { OperationsService } from '../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { Resources_ResourceName as Resource } from '../../proto/gen/platformidl/core/tasks_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { register } from '../support/processes/control-plane.js';
import { importDocumented } from '../support/documents/documented-code.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { launchHello } from '../support/requests/hello.js';
import { startProxy } from '../support/proxies/proxy.js';
import { type ExecutionId, workflowReport } from '../support/requests/reports.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { overGrpc, overRest, type Transport } from '../support/clients/transports.js';
import { until } from '../support/until.js';
import { nameOf, openWork, type WorkStream } from '../support/clients/work-stream.js';

const { method } = AdminService;
/** The status of an accepted message. */
const OK = 0;
/** Executions that an engine can take at a time, unless a test says otherwise. */
const PLACES = 100;
/** A logger that drops everything. */
const silentLogger = { debug: () => undefined, info: () => undefined, warn: () => undefined };

/**
 * Arguments of the worker in `docs/engines.md`: address, name of the engine, executions that it takes at a time,
 * function that runs an execution, and signal that ends the worker.
 */
type WorkerArguments = [string, string, number, (launch: WorkLaunch, abort: AbortSignal) => Promise<void>, AbortSignal];
type DocumentedWorker = { readonly work: (...given: WorkerArguments) => Promise<void> };

describe('the engine feed', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-feed-'));
  let server: ServerProcess;
  let api: Transport;
  const streams: WorkStream[] = [];

  /** Joins the feed as an engine of the group `default`; `more` replaces fields of the `join` message. */
  const engine = (name: string, more: object = {}): WorkStream => {
    const stream = openWork(server.ready.grpc, { group: 'default', engine: name, freePlaces: PLACES, ...more });
    streams.push(stream);
    return stream;
  };

  /** Launches an execution, and waits until the engine, which has no competitors, gets it. */
  const launchFor = async (stream: WorkStream, name: string) => {
    const id = await launchHello(api, name);
    const { lease } = await stream.next('launch');
    return { id, lease };
  };

  const report = (id: ExecutionId, phase: Phase, producerId: string) =>
    api.call(method.createWorkflowEvent, workflowReport(id, { phase, producerId }));

  beforeAll(async () => {
    server = await startServerProcess({
      data: directory,
      // A test that needs a lease for longer sends heartbeats more often than this.
      env: { FLIGHTLOG_PROJECTS: '["flytesnacks"]', FLIGHTLOG_ENGINE_FEED_LEASE_DURATION: '1s' },
    });
    api = overGrpc(server.ready);
    await register(api, withNeeds('01-hello'));
  }, 60_000);

  afterAll(async () => {
    api.close();
    await server.kill();
    rmSync(directory, { recursive: true });
  });

  // Before each test, the engines of the test before leave, and an engine that rejects everything fails the executions
  // that are offered.
  beforeEach(async () => {
    for (const stream of streams.splice(0)) {
      stream.send({ case: 'leave', value: {} });
      await stream.ended;
    }
    const rejecting = engine(`rejecting-${Math.random()}`);
    const id = await launchHello(api, `last-${Math.floor(Math.random() * 1e9)}`);
    for (let name = ''; name !== id.name;) {
      const { lease } = await rejecting.next('launch');
      name = nameOf(lease);
      rejecting.send({
        case: 'reject',
        value: { lease: lease!, then: { case: 'fail', value: { message: 'left by a test' } } },
      });
      await rejecting.next('answer');
    }
    rejecting.send({ case: 'leave', value: {} });
    await rejecting.ended;
  });

  it('gives an engine an execution with its workflow, inputs, spec, settings and resources', async () => {
    const id = await launchHello(api, 'given');
    const launch = await engine('a').next('launch');
    expect(launch).toMatchObject({
      lease: { execution: { ...id }, number: 1n },
      workflow: { case: 'closure', value: { primary: { template: { id: { name: 'hello.hello' } } } } },
      input: { case: 'inputs' },
      spec: { metadata: { systemMetadata: { namespace: 'flytesnacks-development' } } },
      config: { maxParallelism: 25 },
    });
    expect(launch.progress).toBeUndefined();
    const request = toBinary(WorkflowExecutionGetRequestSchema, create(WorkflowExecutionGetRequestSchema, { id }));
    const read = await api.send('GetExecution', request, { 'flightlog-min-position': launch.position });
    expect(read.code).toBe('OK');
    expect(launch.containers[0]?.resources?.requests.map(({ name }) => name)).toEqual(
      expect.arrayContaining([Resource.CPU, Resource.MEMORY]),
    );
  });

  it('lists the engine with what it has leased, over both transports', async () => {
    await launchHello(api, 'listed');
    await engine('lister').next('launch');
    for (const transport of [api, overRest(server.ready)]) {
      const { engines } = await transport.call(OperationsService.method.listEngines, {});
      const found = engines.find(({ engine: name }) => name === 'lister');
      expect(found).toMatchObject({ connected: true, leased: 1, executions: [{ name: 'listed' }] });
    }
  });

  it('sends a workflow above the limit of the engine by reference', async () => {
    await launchHello(api, 'referred');
    const { workflow } = await engine('a', { maxInlineBytes: 1 }).next('launch');
    expect(workflow.value).toMatchObject({ path: '/api/v1/workflows/flytesnacks/development/hello.hello/v1' });
  });

  it('takes the reports of the engine that has the lease, and no others', async () => {
    const id = await launchHello(api, 'fenced');
    const holder = engine('a');
    const { lease } = await holder.next('launch');
    holder.send({ case: 'accept', value: { lease: lease! } });
    expect(await holder.next('answer')).toMatchObject({ code: OK });
    await report(id, Phase.RUNNING, 'a');
    const { code, details } = await api.attempt(
      method.createWorkflowEvent,
      workflowReport(id, { phase: Phase.SUCCEEDED, producerId: 'propeller' }),
    );
    expect([code, details[0]?.typeUrl]).toEqual(['FAILED_PRECONDITION', expect.stringContaining('EventFailureReason')]);
    await report(id, Phase.SUCCEEDED, 'a');
    expect(await holder.next('update')).toMatchObject({ change: { case: 'ended', value: { phase: Phase.SUCCEEDED } } });
  });

  it('answers a heartbeat with the time until which the leases last', async () => {
    const id = await launchHello(api, 'renewed');
    const holder = engine('a');
    const { leaseUntil: first } = await holder.next('launch');
    holder.send({ case: 'heartbeat', value: {} });
    const { leaseUntil: next } = await holder.next('renewed');
    expect(timestampMs(next!)).toBeGreaterThanOrEqual(timestampMs(first!));
    await report(id, Phase.SUCCEEDED, 'a');
  });

  it('does not offer an execution that an engine outside the feed has begun', async () => {
    const id = await launchHello(api, 'outside');
    await report(id, Phase.RUNNING, 'propeller');
    await launchHello(api, 'inside');
    expect(nameOf((await engine('a').next('launch')).lease)).toBe('inside');
    await report(id, Phase.SUCCEEDED, 'propeller');
  });

  it('offers to another engine what an engine has rejected or returned, with the reported progress', async () => {
    const id = await launchHello(api, 'passed');
    const first = engine('a', { freePlaces: 1 });
    const offered = await first.next('launch');
    first.send({
      case: 'reject',
      value: { lease: offered.lease!, reason: 'full', then: { case: 'offerToOthers', value: true } },
    });
    const second = engine('b');
    const taken = await second.next('launch');
    await report(id, Phase.RUNNING, 'b');
    second.send({ case: 'return', value: { lease: taken.lease!, reason: 'going home' } });
    const third = await engine('c').next('launch');
    expect([offered, taken, third].map(({ lease }) => lease?.number)).toEqual([1n, 2n, 3n]);
    expect(third.progress?.phase).toBe(Phase.RUNNING);
    expect(first.received.filter(({ case: name }) => name === 'launch')).toHaveLength(1);
  });

  it('fails an execution that its engine rejects permanently', async () => {
    const id = await launchHello(api, 'rejected');
    const only = engine('a');
    const { lease } = await only.next('launch');
    const error = { code: 'NoSuchPlugin', message: 'no plugin for it' };
    only.send({ case: 'reject', value: { lease: lease!, then: { case: 'fail', value: error } } });
    expect(await only.next('answer')).toMatchObject({ code: OK });
    const { closure } = await until(
      () => api.call(method.getExecution, { id }),
      ({ closure: seen }) => seen?.phase === Phase.FAILED,
    );
    expect(closure?.outputResult).toMatchObject({ case: 'error', value: error });
  });

  it('notifies the engine of an abort, and also the engine that gets the execution next', async () => {
    const id = await launchHello(api, 'aborted');
    const first = engine('a');
    const { lease } = await first.next('launch');
    await api.call(method.terminateExecution, { id, cause: 'enough' });
    expect(await first.next('abort')).toMatchObject({ lease: { number: 1n }, cause: 'enough' });
    first.send({ case: 'return', value: { lease: lease! } });
    expect(await engine('b').next('launch')).toMatchObject({ lease: { number: 2n }, abort: { cause: 'enough' } });
    await report(id, Phase.ABORTED, 'b');
  });

  it('keeps the leases of an engine that joins again in time', async () => {
    await launchHello(api, 'kept');
    const before = engine('a');
    const { session } = await before.next('joined');
    const { lease } = await before.next('launch');
    before.drop();
    const after = engine('a', { session, leases: [lease!] });
    expect(await after.next('joined')).toMatchObject({ session, leases: [{ number: 1n }] });
    after.send({ case: 'return', value: { lease: lease! } });
    expect(await after.next('answer')).toMatchObject({ code: OK });
  });

  it('tells an engine that joins again which execution has ended meanwhile, and sends no abort for that execution', async () => {
    const before = engine('a');
    const { session } = await before.next('joined');
    const { id, lease } = await launchFor(before, 'ended-meanwhile');
    await api.call(method.terminateExecution, { id, cause: 'enough' });
    await before.next('abort');
    before.drop();
    await report(id, Phase.ABORTED, 'a');
    const after = engine('a', { session, leases: [lease!] });
    await after.next('joined');
    expect(await after.next('update')).toMatchObject({
      lease: { execution: { ...id }, number: 1n },
      change: { case: 'ended', value: { phase: Phase.ABORTED } },
    });
    expect(after.received.map((each) => each.case)).not.toContain('abort');
  });

  it('gives the execution of an engine without heartbeats to another, and refuses reports of the first', async () => {
    const id = await launchHello(api, 'silent');
    const silent = engine('a');
    await silent.next('launch');
    const next = engine('b');
    await next.next('joined');
    const heartbeats = setInterval(() => next.send({ case: 'heartbeat', value: {} }), 200);
    expect(await next.next('launch')).toMatchObject({ lease: { execution: { ...id }, number: 2n } });
    expect(await silent.next('update')).toMatchObject({ change: { case: 'lost' } });
    expect((await silent.ended).code).toBe('FAILED_PRECONDITION');
    clearInterval(heartbeats);
    const late = await api.attempt(
      method.createWorkflowEvent,
      workflowReport(id, { phase: Phase.RUNNING, producerId: 'a' }),
    );
    expect(late.code).toBe('FAILED_PRECONDITION');
    await report(id, Phase.SUCCEEDED, 'b');
  });

  it('ends the session of an earlier engine of the same name, in spite of its heartbeats', async () => {
    await launchHello(api, 'twice');
    const old = engine('a');
    await old.next('launch');
    const heartbeats = setInterval(() => old.send({ case: 'heartbeat', value: {} }), 200);
    expect(await engine('a').next('launch')).toMatchObject({ lease: { number: 2n } });
    expect((await old.ended).code).toBe('FAILED_PRECONDITION');
    clearInterval(heartbeats);
  });

  it('gives the worker in the documentation each execution once, though its connection is cut', async () => {
    const { work } = await importDocumented<DocumentedWorker>('docs/engines.md', '### A worker in TypeScript');
    const proxy = await startProxy(server.ready.grpc);
    const stop = new AbortController();
    const runs: string[] = [];
    const run = async ({ lease }: WorkLaunch): Promise<void> => {
      const id = lease!.execution!;
      runs.push(id.name);
      await report(id, Phase.RUNNING, 'documented');
      if (runs.length % 3 === 0) proxy.cut();
      await report(id, Phase.SUCCEEDED, 'documented');
    };
    const working = work(proxy.address, 'documented', 2, run, stop.signal);
    const ids = await Promise.all(Array.from({ length: 6 }, (_, at) => launchHello(api, `documented-${at}`)));
    for (const id of ids)
      await until(
        () => api.call(method.getExecution, { id }),
        ({ closure }) => closure?.phase === Phase.SUCCEEDED,
      );
    stop.abort();
    await working;
    await proxy.close();
    expect([...runs].sort()).toEqual(ids.map(({ name }) => name));
  });

  it('has the worker in the documentation abort what still runs of an execution that has ended', async () => {
    const { work } = await importDocumented<DocumentedWorker>('docs/engines.md', '### A worker in TypeScript');
    const stop = new AbortController();
    const run = async ({ lease }: WorkLaunch, abort: AbortSignal): Promise<void> => {
      const aborted = once(abort, 'abort');
      await report(lease!.execution!, Phase.FAILED, 'documented');
      await aborted;
      stop.abort();
    };
    const working = work(server.ready.grpc, 'documented', 1, run, stop.signal);
    await launchHello(api, 'documented-ended');
    await working;
  });

  it('has the worker in the documentation abort what another engine got while the worker was disconnected', async () => {
    const { work } = await importDocumented<DocumentedWorker>('docs/engines.md', '### A worker in TypeScript');
    const proxy = await startProxy(server.ready.grpc);
    const stop = new AbortController();
    const disconnected = new EventEmitter();
    const run = async (_: WorkLaunch, abort: AbortSignal): Promise<void> => {
      const aborted = once(abort, 'abort');
      proxy.shut();
      disconnected.emit('while running');
      await aborted;
      stop.abort();
    };
    const running = once(disconnected, 'while running');
    const working = work(proxy.address, 'documented', 1, run, stop.signal);
    const id = await launchHello(api, 'documented-lost');
    await running;
    const next = engine('b');
    const heartbeats = setInterval(() => next.send({ case: 'heartbeat', value: {} }), 200);
    expect(await next.next('launch')).toMatchObject({ lease: { execution: { ...id }, number: 2n } });
    proxy.open();
    await working;
    clearInterval(heartbeats);
    await proxy.close();
    await report(id, Phase.SUCCEEDED, 'b');
  });

  it('has the worker in the documentation leave, though it is stopped while it is disconnected', async () => {
    const { work } = await importDocumented<DocumentedWorker>('docs/engines.md', '### A worker in TypeScript');
    const proxy = await startProxy(server.ready.grpc);
    const stop = new AbortController();
    const isConnected = async (): Promise<boolean> => {
      const { engines } = await api.call(OperationsService.method.listEngines, {});
      return engines.some(({ engine: name, connected }) => name === 'stopped' && connected);
    };
    const working = work(proxy.address, 'stopped', 1, () => Promise.resolve(), stop.signal);
    await until(isConnected, (value) => value);
    proxy.cut();
    await until(isConnected, (value) => !value);
    await pause(100); // the worker joins again after 500 ms
    stop.abort();
    await working;
    const { engines } = await api.call(OperationsService.method.listEngines, {});
    expect(engines.map(({ engine: name }) => name)).not.toContain('stopped');
    await proxy.close();
  });

  it('gives the simulated engine executions, which it runs to success', async () => {
    const stop = new AbortController();
    const options: EngineOptions = {
      ...{ endpoint: server.ready.grpc, concurrency: 4, rate: 0, failureProbability: 0, seed: 's' },
      gates: 'auto',
      untilIdle: false,
      feed: { group: 'default', name: 'simulated' },
    };
    const running = runEngine(options, { signal: stop.signal, logger: silentLogger });
    const ids = await Promise.all(Array.from({ length: 12 }, (_, at) => launchHello(api, `simulated-${at}`)));
    for (const id of ids)
      await until(
        () => api.call(method.getExecution, { id }),
        ({ closure }) => closure?.phase === Phase.SUCCEEDED,
      );
    stop.abort();
    expect((await running).executions).toMatchObject({ SUCCEEDED: 12 });
  });

  it('keeps an engine with `untilIdle` running while another engine has an execution', async () => {
    const other = engine('other', { freePlaces: 1 });
    const { id, lease } = await launchFor(other, 'with-another');
    const heartbeats = setInterval(() => other.send({ case: 'heartbeat', value: {} }), 100);
    const running = runEngine(
      {
        ...{ endpoint: server.ready.grpc, concurrency: 4, rate: 0, failureProbability: 0, seed: 's' },
        ...{ gates: 'wait', untilIdle: true, feed: { group: 'default', name: 'until-idle' } },
      },
      { signal: new AbortController().signal, logger: silentLogger },
    );
    const own = await launchHello(api, 'of-its-own');
    await until(
      () => api.call(method.getExecution, { id: own }),
      ({ closure }) => closure?.phase === Phase.SUCCEEDED,
    );
    const ended = running.then(() => 'ended');
    // Far longer than the engine would take to end if the other one had no execution.
    const later = new Promise((resolve) => setTimeout(() => resolve('still running'), 1_500));
    expect(await Promise.race([ended, later])).toBe('still running');
    clearInterval(heartbeats);
    other.send({ case: 'return', value: { lease: lease! } });
    expect(await running).toMatchObject({ endedBecause: 'idle', held: [], executions: { SUCCEEDED: 2 } });
    expect((await api.call(method.getExecution, { id })).closure?.phase).toBe(Phase.SUCCEEDED);
  });

  it('refuses a join without the name of the engine', async () => {
    const stream = openWork(server.ready.grpc, { group: 'default', engine: '' });
    expect(await stream.ended).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'missing join.engine' });
  });
});
