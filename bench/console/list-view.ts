import type { Locator, Page } from 'playwright-core';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { GrpcClient } from '../../test/support/clients/grpc-client.js';
import type { Limited } from '../bench.js';
import { writeFrames } from '../load/frames.js';
import { generateLoad } from '../load/processes.js';
import { createRequests, DOMAIN, nodeEvents, PROJECT } from '../load/workload.js';
import { atMost, framesOf, type Measured, opening, wheeled } from './views.js';

const SERVICE = '/flyteidl.service.AdminService';
const PATH = `/console/projects/${PROJECT}/domains/${DOMAIN}/executions`;
/** Upper limits of the list: the time to open it, and the memory of the page. */
const OPEN_MS = 2_000;
const MEMORY_MB = 300;
/** The list is open when it shows this many rows, with the one of the headings. */
const SHOWN_ROWS = 6;
/** Node events that come in while the list is open: their rate, for how long, and of how many executions. */
const EVENTS_A_SECOND = 500;
const LIVE_SECONDS = 20;
const LIVE_EXECUTIONS = 100;
/** Height of a row of the list. */
const ROW_PX = 52;
/**
 * The list at rest is scrolled by this many rows, but at most by half of it, in turns of the wheel of `SCROLL_STEPS`
 * steps each.
 */
const SCROLLED_ROWS = 10_000;
const SCROLL_STEP_ROWS = 20;
const SCROLL_STEPS = 20;
/** Steps, of two rows each, by which the list is scrolled while events come in. */
const LIVE_SCROLL_STEPS = 250;
/** Number of executions for which the time until the list shows them is measured. */
const FRESH_SAMPLES = 10;

type Target = { readonly address: string; readonly framesFile: string };

/** Creates `count` executions. */
export const createMany = async ({ address, framesFile }: Target, count: number): Promise<void> => {
  writeFrames(framesFile, createRequests('listed', count));
  await generateLoad({ address, framesFile, path: `${SERVICE}/CreateExecution`, from: 0, count, inFlight: 128 });
};

const linkTo = (name: string, page: Page) => page.getByRole('link', { name, exact: true });

/**
 * Prepares 20 seconds of 500 events a second. The function that it returns sends them, and resolves with the events per
 * second that were reached.
 */
const prepareEvents = async (client: GrpcClient, { address, framesFile }: Target): Promise<() => Promise<number>> => {
  for (const request of createRequests('live', LIVE_EXECUTIONS))
    await client.raw(`${SERVICE}/CreateExecution`, request);
  const names = Array.from({ length: LIVE_EXECUTIONS }, (_, index) => `live-${index}`);
  const { requests } = nodeEvents(names, EVENTS_A_SECOND * LIVE_SECONDS);
  writeFrames(framesFile, requests);
  const order = { address, framesFile, path: `${SERVICE}/CreateNodeEvent`, from: 0, count: requests.length };
  return async () => (await generateLoad({ ...order, inFlight: 64, maxPerSecond: EVENTS_A_SECOND })).perSecond;
};

/** The times from the answer to a create until its row is shown, in milliseconds, ascending. */
const freshnessOf = async ({ page }: Measured, client: GrpcClient): Promise<readonly number[]> => {
  const took: number[] = [];
  for (const [index, request] of createRequests('seen', FRESH_SAMPLES).entries()) {
    await client.raw(`${SERVICE}/CreateExecution`, request);
    const started = performance.now();
    await linkTo(`seen-${index}`, page).waitFor();
    took.push(performance.now() - started);
  }
  return took.sort((a, b) => a - b);
};

/** Turns the wheel until the list is scrolled by `row` rows; the page has to read all of them from the server. */
const scrollTo = async (measured: Measured, list: Locator, row: number): Promise<void> => {
  const top = (): Promise<number> => measured.page.evaluate<number>('scrollY');
  while ((await top()) < row * ROW_PX) await wheeled(measured, list, SCROLL_STEP_ROWS * ROW_PX, SCROLL_STEPS);
};

/** Reads one page of the list as the console does; returns the milliseconds until the answer. */
const pageMs = async (client: GrpcClient): Promise<number> => {
  const started = performance.now();
  await client.call(AdminService.method.listExecutions, {
    ...{ id: { project: PROJECT, domain: DOMAIN }, limit: 100, sortBy: { key: 'created_at' } },
  });
  return performance.now() - started;
};

/** Measures the list over many executions, at rest and while events come in. */
export const listView = async (
  measured: Measured,
  {
    server,
    client,
    target,
    count,
  }: { readonly server: string; readonly client: GrpcClient; readonly target: Target; readonly count: number },
): Promise<readonly Limited[]> => {
  const { page, meter } = measured;
  const rows = page.getByRole('table', { name: 'Executions' });
  const opened = await opening(measured, 'open the list', {
    limitMs: OPEN_MS,
    open: async () => {
      await page.goto(`${server}${PATH}`);
      await rows
        .getByRole('row')
        .nth(SHOWN_ROWS - 1)
        .waitFor();
    },
  });
  const scroll = await meter.frames(() => scrollTo(measured, rows, Math.min(SCROLLED_ROWS, count / 2)));
  const memoryAtRest = await meter.memory();
  const sendEvents = await prepareEvents(client, target);
  await page.goto(`${server}${PATH}`);
  await rows
    .getByRole('row')
    .nth(SHOWN_ROWS - 1)
    .waitFor();
  const sending = sendEvents();
  const fresh = await freshnessOf(measured, client);
  const live = await meter.frames(() => wheeled(measured, rows, ROW_PX * 2, LIVE_SCROLL_STEPS));
  const busyPageMs = await pageMs(client);
  const eventsPerSecond = await sending;
  return [
    ...opened,
    ...framesOf('scroll the list', scroll),
    atMost('list: heap of the page', memoryAtRest.heapMb, 'MB', MEMORY_MB),
    atMost('list: private memory of its process', memoryAtRest.processMb, 'MB', MEMORY_MB),
    { name: 'events while the list is open', value: eventsPerSecond, unit: '/s' },
    ...framesOf('scroll the list while events come in', live),
    atMost('a new execution is in the list after, median', fresh[FRESH_SAMPLES / 2] ?? Number.NaN, 'ms'),
    atMost('a new execution is in the list after, longest', fresh.at(-1) ?? Number.NaN, 'ms'),
    atMost('a page of the list at the server meanwhile', busyPageMs, 'ms'),
  ];
};
