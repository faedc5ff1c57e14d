import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  NodeExecution_Phase as Node,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { bytesOf } from '../../services/kernel/ports/payload-store.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { readiness, untilCheck } from '../support/processes/health.js';
import { helloRequest, launchHello } from '../support/requests/hello.js';
import { modelOf } from '../support/views/independent-model.js';
import { type Proxy, startProxy } from '../support/proxies/proxy.js';
import { timesInLog } from '../support/streams/recorded-events.js';
import { nodeReport, workflowReport } from '../support/requests/reports.js';
import { startTwoProcesses, type TwoProcesses } from '../support/processes/two-processes.js';
import { until } from '../support/until.js';
import { differencesAt } from '../support/views/view-check.js';

const { method } = AdminService;

let two: TwoProcesses;
/** The proxy between the first process and the log; the second process has none. */
let proxy: Proxy | undefined;
const launched = new Set<string>();
/** The acknowledged reports. */
let reports = 0;

/** The HTTP address of the first process. */
const http = (): string => two.members[0].server().ready.http;

/** Launches one execution and reports it to its end, through the second process. */
const writeOne = async (): Promise<void> => {
  const api = two.members[1].api();
  const name = `beside-${launched.size}`;
  const id = await launchHello(api, name);
  launched.add(`flytesnacks/development/${name}`);
  await api.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
  for (const phase of [Node.QUEUED, Node.RUNNING, Node.SUCCEEDED])
    await api.call(method.createNodeEvent, nodeReport(id, 'n0', { phase }));
  await api.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.SUCCEEDED }));
  reports += 5;
};

/** Keeps writing while some work runs. */
const whileWriting = async (work: () => Promise<void>): Promise<void> => {
  const done = new AbortController();
  const writing = (async () => {
    while (!done.signal.aborted) await writeOne();
  })();
  await work().finally(() => done.abort());
  await writing;
};

/** Launches through the first process; after an unknown outcome, it sends the request again, as clients do. */
const launchThroughFirst = async (name: string): Promise<void> => {
  await until(
    () => two.members[0].api().attempt(method.createExecution, helloRequest(name)),
    ({ code }) => code === 'OK' || code === 'ALREADY_EXISTS',
  );
  launched.add(`flytesnacks/development/${name}`);
};

/** Expects the first process to be alive but not ready, because it is more than 1 s behind the log. */
const expectBehind = async (): Promise<void> => {
  const { ready, checks } = await untilCheck(http(), 'log', 'down');
  expect(ready).toBe(false);
  expect(checks['log']?.lagMs).toBeGreaterThan(1_000);
  expect(checks['log']?.why).toMatch(/behind the log/u);
  expect((await fetch(`${http()}/healthz`)).status).toBe(200);
};

/** Expects every acknowledged launch and report in the log once, and the views of both processes to match the log. */
const expectNothingLost = async (): Promise<void> => {
  const log = await sqliteLogReader({ directory: two.directory });
  const payloads = filePayloadStore({ directory: two.directory });
  const read = (content: Parameters<typeof bytesOf>[0]) => bytesOf(content, payloads);
  const times = await timesInLog(log, read);
  expect([...times.values()]).toEqual(Array.from({ length: reports }, () => 1));
  const model = await modelOf(log, read);
  expect(new Set(model.keys())).toEqual(launched);
  const head = await log.head();
  await log.close();
  for (const member of two.members) expect(await differencesAt(member.server().ready, head, model)).toEqual([]);
};

beforeAll(async () => {
  two = await startTwoProcesses({
    way: async (address) => {
      if (proxy !== undefined) return address;
      proxy = await startProxy(address);
      return proxy.address;
    },
  });
  await register(two.members[0].api(), withNeeds('01-hello'));
  await untilCheck(http(), 'log', 'well');
});
afterAll(async () => {
  await two.close();
  await proxy?.close();
});

describe('a process that receives no more events, while another process writes', () => {
  it('is not ready and names the check that is behind; nothing is lost once events arrive again', async () => {
    await whileWriting(async () => {
      proxy!.stallAnswers();
      const launching = launchThroughFirst('asked-while-stalled');
      await expectBehind();
      proxy!.resumeAnswers();
      expect((await untilCheck(http(), 'log', 'well')).ready).toBe(true);
      await launching;
    });
    await expectNothingLost();
  });

  it('reconnects after a long silence of the server, and resumes after the last event', async () => {
    await whileWriting(async () => {
      proxy!.stallAnswers();
      const launching = launchThroughFirst('asked-before-the-timeout');
      await expectBehind();
      await untilCheck(http(), 'log', 'well');
      await untilCheck(http(), 'views', 'well');
      expect((await readiness(http())).ready).toBe(true);
      await launching;
    });
    await expectNothingLost();
  });
});
