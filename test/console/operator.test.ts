import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { EventStoreDBClient, persistentSubscriptionToAllSettingsFromDefaults, START } from '@eventstore/db-client';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { DeadLetterRecordedSchema } from '../../proto/gen/platformidl/eventlog/dead_letter_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { deadLetterStream } from '../../services/dead-letter/events.js';
import type { RecordedEvent } from '../../services/kernel/event.js';
import { sqliteEventStore } from '../../services/store/log/sqlite-event-store.js';
import { chromiumPath, startChromium } from '../support/chromium.js';
import { barriersInThemes, openPage } from '../support/console-page.js';
import { register } from '../support/control-plane.js';
import { allEvents, executionStream, newEvent } from '../support/filled-log.js';
import { withNeeds } from '../support/fixtures.js';
import { launchHello } from '../support/hello.js';
import { launchOf, plan } from '../support/poisoned-streams.js';
import { workflowReport } from '../support/reports.js';
import { type ServerProcess, startServerProcess } from '../support/server-process.js';
import { overGrpc } from '../support/transports.js';
import { openWork, type WorkStream } from '../support/work-stream.js';

const REACTOR = 'release-slots';
const PLAN = 'hello.one-at-a-time';
const REASON = 'the store did not answer';
const executionId = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });

/** Records that a reactor has given up the work for an event. */
const deadLetter = ({ position, stream, revision }: RecordedEvent) => {
  const letter = { reactor: REACTOR, position, stream, revision, reason: REASON, attempts: 8 };
  const recorded = create(DeadLetterRecordedSchema, { letter: { ...letter, since: timestampFromMs(Date.now()) } });
  return newEvent('DeadLetterRecorded', toBinary(DeadLetterRecordedSchema, recorded));
};

describe.skipIf(chromiumPath === undefined)('the story of an operator', () => {
  const data = mkdtempSync(join(tmpdir(), 'flightlog-operator-'));
  const errors: string[] = [];
  let server: ServerProcess;
  let engine: WorkStream;
  let browser: Browser;
  let page: Page;
  let letters: readonly RecordedEvent[];

  const start = async (args: readonly string[] = []): Promise<void> => {
    server = await startServerProcess({ data, args, env: { FLIGHTLOG_PROJECTS: '[flytesnacks]' } });
  };

  /** Two executions that held slots have ended, and one waits for an engine. */
  const fill = async (): Promise<void> => {
    const api = overGrpc(server.ready);
    await register(api, withNeeds('01-hello'));
    await api.call(AdminService.method.createLaunchPlan, plan(PLAN, 2));
    for (const name of ['first', 'second']) {
      await launchOf(api, name, PLAN);
      await api.call(
        AdminService.method.createWorkflowEvent,
        workflowReport(executionId(name), { phase: Phase.FAILED }),
      );
    }
    await launchHello(api, 'unreadable');
    await launchHello(api, 'leased');
    api.close();
  };

  /** Adds what faults leave in a log: work that was given up, and an event that cannot be read. */
  const damage = async (): Promise<void> => {
    const store = await sqliteEventStore({ directory: data });
    letters = (await allEvents(store)).filter(({ type }) => type === 'SlotTaken');
    await store.append(deadLetterStream(REACTOR), 'any', letters.map(deadLetter));
    await store.append(executionStream('unreadable'), 'any', [newEvent('OfANewerRelease', Uint8Array.of(0xff))]);
    await store.close();
  };

  beforeAll(async () => {
    await start();
    await fill();
    await server.stop();
    await damage();
    await start(['--eventstore-mode', 'write']);
    const client = EventStoreDBClient.connectionString(`esdb://${server.ready.eventstore}?tls=false`);
    await client.createPersistentSubscriptionToAll(
      'warehouse',
      persistentSubscriptionToAllSettingsFromDefaults({ startFrom: START }),
    );
    await client.dispose();
    engine = openWork(server.ready.grpc, { group: 'default', engine: 'propeller', freePlaces: 5 });
    browser = await startChromium();
    page = await openPage(browser, errors);
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
    rmSync(data, { recursive: true });
  });

  it('shows engines with their work, and named consumers', async () => {
    await page.goto(`${server.ready.http}/console/operate`);
    await page
      .getByRole('row', { name: /propeller default connected/u })
      .getByRole('link', { name: 'leased' })
      .waitFor();
    await page.getByRole('row', { name: /warehouse \$all/u }).waitFor();
    await page.getByRole('row', { name: 'parked degraded' }).waitFor();
    expect(await barriersInThemes(page, 'operate')).toEqual([]);
    engine.drop();
  });

  it('finds a parked stream, and reads its events', async () => {
    const row = page.getByRole('row', { name: /execution-flytesnacks:development:unreadable/u });
    await row.getByRole('link').click();
    await page.getByRole('heading', { name: 'Events' }).waitFor();
    await page.getByText('OfANewerRelease').first().click();
    await page.locator('.tail pre').first().waitFor();
    expect(await page.locator('.tail li').count()).toBe(1);
    await page.goBack();
  });

  it('retries one dead letter and skips another, and the server is killed between', async () => {
    const rowOf = (at: number) =>
      page.getByRole('row', { name: new RegExp(`${REACTOR} dead ${letters[at]?.position} `, 'u') });
    await rowOf(0).getByText(REASON).waitFor();
    await rowOf(0).getByRole('button', { name: 'Retry' }).click();
    await rowOf(0).waitFor({ state: 'detached' });

    const port = new URL(server.ready.http).port;
    await server.kill();
    await page.getByText('The server does not answer').waitFor();
    await start(['--http-port', port]);
    await page.getByText('The server does not answer').waitFor({ state: 'detached' });

    await rowOf(1).getByRole('button', { name: 'Skip …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Skip' }).click();
    await rowOf(1).waitFor({ state: 'detached' });
    await page.getByText('None: the reactors have done all their work').waitFor();
    expect(errors).toEqual([]);
  });
});
