import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { EventStoreDBClient, persistentSubscriptionToAllSettingsFromDefaults, START } from '@eventstore/db-client';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { DeadLetterRecordedSchema } from '../../proto/gen/platformidl/eventlog/dead_letter_pb.js';
import { LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { VIEWS_FILE } from '../../projections/store/sqlite/sqlite-read-store.js';
import { deadLetterStream } from '../../services/dead-letter/events.js';
import type { RecordedEvent } from '../../services/kernel/event.js';
import { sqliteEventStore } from '../../services/store/log/sqlite-event-store.js';
import { chromiumPath } from '../support/browser/chromium.js';
import { barriersInLooks } from '../support/browser/console-page.js';
import { consoleStory } from '../support/browser/console-story.js';
import { register } from '../support/processes/control-plane.js';
import { allEvents, executionStream, newEvent } from '../support/streams/filled-log.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { helloRequest, launchHello, literal } from '../support/requests/hello.js';
import { launchOf, plan } from '../support/streams/poisoned-streams.js';
import { workflowReport } from '../support/requests/reports.js';
import { overGrpc } from '../support/clients/transports.js';
import { openWork, type WorkStream } from '../support/clients/work-stream.js';

const REACTOR = 'release-slots';
const PLAN = 'hello.two-at-a-time';
const REASON = 'the store did not answer';
const executionId = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });

/** Makes the event which says that a reactor has given up the work for an event. */
const deadLetter = ({ position, stream, revision }: RecordedEvent) => {
  const letter = { reactor: REACTOR, position, stream, revision, reason: REASON, attempts: 8 };
  const recorded = create(DeadLetterRecordedSchema, { letter: { ...letter, since: timestampFromMs(Date.now()) } });
  return newEvent('DeadLetterRecorded', toBinary(DeadLetterRecordedSchema, recorded));
};

describe.skipIf(chromiumPath === undefined)('the story of an operator', () => {
  const story = consoleStory('operator');
  let engine: WorkStream;
  let page: Page;
  let consumers: EventStoreDBClient;
  let letters: readonly RecordedEvent[];

  /** Launches two executions that hold slots and fail, and three that wait for an engine. */
  const fill = async (): Promise<void> => {
    const api = overGrpc(story.server().ready);
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
    const large = helloRequest('without-its-inputs', ({ inputs }) => {
      inputs!.literals['name'] = create(LiteralSchema, literal('x'.repeat(100_000)));
    });
    await api.call(AdminService.method.createExecution, large);
    api.close();
  };

  /** The folder with the payloads of the execution `without-its-inputs`. */
  const payloads = (): string => join(story.data, 'payloads/runs/flytesnacks/development/without-its-inputs');

  /**
   * Makes what faults leave behind: two dead letters, an event that cannot be read, and a missing payload. Deletes the
   * views, so that the next server folds them again.
   */
  const damage = async (): Promise<void> => {
    const store = await sqliteEventStore({ directory: story.data });
    letters = (await allEvents(store)).filter(({ type }) => type === 'SlotTaken');
    await store.append(deadLetterStream(REACTOR), 'any', letters.map(deadLetter));
    await store.append(executionStream('unreadable'), 'any', [newEvent('OfANewerRelease', Uint8Array.of(0xff))]);
    await store.close();
    renameSync(payloads(), `${payloads()}.away`);
    for (const file of readdirSync(story.data)) if (file.startsWith(VIEWS_FILE)) rmSync(join(story.data, file));
  };

  beforeAll(async () => {
    await story.start();
    await fill();
    await story.server().stop();
    await damage();
    await story.start(['--eventstore-mode', 'write']);
    const { eventstore, grpc } = story.server().ready;
    consumers = EventStoreDBClient.connectionString(`esdb://${eventstore}?tls=false`);
    await consumers.createPersistentSubscriptionToAll(
      'warehouse',
      persistentSubscriptionToAllSettingsFromDefaults({ startFrom: START }),
    );
    const consumer = consumers.subscribeToPersistentSubscriptionToAll('warehouse', { bufferSize: 7 });
    consumer.on('error', () => undefined); // when a failed test leaves it connected to a server that is killed
    engine = openWork(grpc, { group: 'default', engine: 'propeller', freePlaces: 5 });
    page = await story.open();
  });
  afterAll(() => story.close());

  it('shows an engine with the execution that it has, and a named consumer with its events in flight', async () => {
    await page.goto(`${story.server().ready.http}/console/operate`);
    await page
      .getByRole('row', { name: /propeller default connected/u })
      .getByRole('link', { name: 'leased' })
      .waitFor();
    await page.getByRole('row', { name: /warehouse \$all .* 7 of 7 in flight/u }).waitFor();
    await consumers.dispose();
    await page.getByRole('row', { name: 'parked degraded' }).waitFor();
    expect(await barriersInLooks(page, 'operate')).toEqual([]);
    engine.drop();
  });

  it('finds a parked stream, and reads the event at which the stream is parked', async () => {
    const row = page.getByRole('row', { name: /^execution-flytesnacks:development:unreadable/u });
    await row.getByRole('link').click();
    await page.getByRole('heading', { name: 'Events' }).waitFor();
    await page.getByText('OfANewerRelease').first().click();
    await page.locator('.tail pre').first().waitFor();
    expect(await page.locator('.tail li').count()).toBe(1);
    await page.goBack();
  });

  /** Clicks an action of a row and confirms it, when the dialog says what will happen. */
  const act = async (row: Locator, action: string, says: RegExp): Promise<void> => {
    await row.getByRole('button', { name: `${action} …` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(says).waitFor();
    await dialog.getByRole('button', { name: action, exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
  };

  it('retries a parked stream, which stays parked until its payload is back', async () => {
    const row = page.getByRole('row', { name: /^execution-flytesnacks:development:without-its-inputs/u });
    await row.getByText('is missing').waitFor();
    await act(row, 'Retry', /read the stream again/u);
    await row.getByText('still parked').waitFor();

    renameSync(`${payloads()}.away`, payloads());
    const detached = row.waitFor({ state: 'detached' });
    // On a slow machine the first request is processed only now, and the row is gone before the second one.
    await Promise.race([detached, act(row, 'Retry', /read the stream again/u)]).catch(() => undefined);
    await detached;
    await page.getByRole('row', { name: /^execution-flytesnacks:development:unreadable/u }).waitFor();
  });

  it('retries one dead letter and skips another, and the server is killed between', async () => {
    const rowOf = (at: number) =>
      page.getByRole('row', { name: new RegExp(`${REACTOR} dead ${letters[at]?.position} `, 'u') });
    await rowOf(0).getByText(REASON).waitFor();
    await act(rowOf(0), 'Retry', /does the work for this event again/u);
    await rowOf(0).waitFor({ state: 'detached' });

    await story.restart(page);

    await act(rowOf(1), 'Skip', /cannot be undone/u);
    await rowOf(1).waitFor({ state: 'detached' });
    expect(await page.locator('h2:focus').innerText()).toBe('Dead letters');
    await page.getByText('None: the reactors have done all their work').waitFor();
    expect(story.errors).toEqual([]);
  });
});
