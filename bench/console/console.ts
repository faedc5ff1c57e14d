import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromiumPath, startChromium } from '../../test/support/browser/chromium.js';
import { grpcClient } from '../../test/support/clients/grpc-client.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import type { Bench, BenchOptions, Limited } from '../bench.js';
import { PROJECT, registerHello } from '../load/workload.js';
import { executionViews } from './execution-view.js';
import { EVENTS_A_NODE, runLargeExecution } from './large-execution.js';
import { createMany, listView } from './list-view.js';
import { meterOf } from './meter.js';
import { atMost, type Measured, opening, painted } from './views.js';

const BUILD = fileURLToPath(new URL('../../../console/build.js', import.meta.url));

const KB = 1_000;
/** Upper limits of the first load: bytes transferred, and the time until the page answers to a key. */
const FIRST_LOAD_KB = 300;
const INTERACTIVE_MS = 1_000;

/** Opens the console in a browser that has started, and has never loaded it. */
const firstLoad = async (measured: Measured, server: string): Promise<readonly Limited[]> => {
  const { page, meter, serverPid } = measured;
  await meter.untilIdle(serverPid);
  const network = await page.context().newCDPSession(page);
  await network.send('Network.enable');
  let bytes = 0;
  network.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  const opened = await opening(measured, 'first load, until the page answers to the keyboard', {
    limitMs: INTERACTIVE_MS,
    open: async () => {
      await page.goto(`${server}/console/`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await painted(page);
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
    },
  });
  return [atMost('first load: transferred', bytes / KB, 'kB', FIRST_LOAD_KB), ...opened];
};

const measure = async ({ disk, count, nodeArgs }: BenchOptions): Promise<readonly Limited[]> => {
  if (chromiumPath === undefined) throw new Error('no chromium in PATH');
  execFileSync(process.execPath, [BUILD], { stdio: 'inherit' });
  const server = await startServerProcess({
    data: join(disk.directory, 'console'),
    nodeArgs,
    env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` },
  });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  const target = { address: server.ready.grpc, framesFile: join(disk.directory, 'console-frames') };
  await runLargeExecution(client, { ...target, nodes: Math.ceil(count / EVENTS_A_NODE) });
  const browser = await startChromium();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const measured = { page, meter: await meterOf(browser, page), serverPid: server.child.pid ?? 0 };
  const first = await firstLoad(measured, server.ready.http);
  const ofExecution = await executionViews(measured, server.ready.http);
  const listed = Math.ceil((count * 5) / 3); // 100,000 executions with the default count
  await createMany(target, listed);
  const ofList = await listView(measured, { server: server.ready.http, client, target, count: listed });
  await browser.close();
  client.close();
  await server.stop();
  return [...first, ...ofExecution, ...ofList];
};

/** The web console with an execution of many nodes and a list of many executions, in a browser without a window. */
export const consoleWithLargeData: Bench = { name: 'console', target: 0, onlyByName: true, run: measure };
