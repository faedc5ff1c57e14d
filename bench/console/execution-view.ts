import type { Limited } from '../bench.js';
import { processorMs } from '../processor-time.js';
import { DOMAIN, PROJECT } from '../load/workload.js';
import { LARGE } from './large-execution.js';
import { atMost, dragged, framesOf, type Measured, opening, painted, wheeled } from './views.js';

/** Upper limits of each view: the time to open it, and the memory of the page. */
const OPEN_MS = 2_000;
const MEMORY_MB = 300;
/** Pixels that each step of the wheel scrolls by: up (negative) zooms in, down zooms out. */
const ZOOM_PX = 40;
/** A drag over the graph and back; its ends are fractions of the width of the graph. */
const ACROSS = { from: 0.3, to: 0.7, back: true };

const PATH = `/console/projects/${PROJECT}/domains/${DOMAIN}/executions/${LARGE}`;

const memoryOf = async (name: string, { meter }: Measured): Promise<readonly Limited[]> => {
  const { heapMb, processMb } = await meter.memory();
  return [
    atMost(`${name}: heap of the page`, heapMb, 'MB', MEMORY_MB),
    atMost(`${name}: private memory of its process`, processMb, 'MB', MEMORY_MB),
  ];
};

const nodesOf = async (measured: Measured, server: string): Promise<readonly Limited[]> => {
  const { page, meter } = measured;
  const opened = await opening(measured, 'open the nodes', {
    limitMs: OPEN_MS,
    open: async () => {
      await page.goto(`${server}${PATH}`);
      await page.getByRole('button', { name: 'n0 Succeeded', exact: false }).first().waitFor();
    },
  });
  const frames = await meter.frames(() => wheeled(measured, page.locator('.chart-scroll')));
  return [...opened, ...framesOf('scroll the nodes', frames), ...(await memoryOf('nodes', measured))];
};

const graphOf = async (measured: Measured, server: string): Promise<readonly Limited[]> => {
  const { page, meter } = measured;
  const canvas = page.locator('canvas');
  const opened = await opening(measured, 'open the graph', {
    limitMs: OPEN_MS,
    open: async () => {
      await page.goto(`${server}${PATH}?view=graph`);
      await canvas.waitFor();
      await painted(page);
    },
  });
  const pan = await meter.frames(() => dragged(measured, canvas, ACROSS));
  const zoomIn = await meter.frames(() => wheeled(measured, canvas, -ZOOM_PX));
  const panDetails = await meter.frames(() => dragged(measured, canvas, ACROSS));
  const zoomOut = await meter.frames(() => wheeled(measured, canvas, ZOOM_PX));
  return [
    ...opened,
    ...framesOf('pan the whole graph', pan),
    ...framesOf('zoom into the graph', zoomIn),
    ...framesOf('pan its details', panDetails),
    ...framesOf('zoom out', zoomOut),
    ...(await memoryOf('graph', measured)),
  ];
};

const historyOf = async (measured: Measured, server: string): Promise<readonly Limited[]> => {
  const { page, meter, serverPid } = measured;
  const track = page.locator('.slider');
  const opened = await opening(measured, 'open the history', {
    limitMs: OPEN_MS,
    open: async () => {
      await page.goto(`${server}${PATH}?view=life`);
      await track.waitFor();
    },
  });
  const [started, serverBefore] = [performance.now(), processorMs(serverPid)];
  await page.getByText('Reading older events').waitFor({ state: 'detached' });
  const restMs = performance.now() - started;
  const serverMs = processorMs(serverPid) - serverBefore;
  const sinceOpenedMs = await meter.mainThreadMs();
  const slide = await meter.frames(() => dragged(measured, track, { from: 0.99, to: 0.1, back: true }));
  return [
    ...opened,
    atMost('read the rest of the history', restMs, 'ms'),
    atMost('read the rest of the history: server', serverMs, 'ms'),
    atMost('open the history and read all of it: main thread', sinceOpenedMs, 'ms'),
    ...framesOf('slide through the history', slide),
    ...(await memoryOf('history', measured)),
  ];
};

/** Measures the views of one execution with many nodes. */
export const executionViews = async (measured: Measured, server: string): Promise<readonly Limited[]> => [
  ...(await nodesOf(measured, server)),
  ...(await graphOf(measured, server)),
  ...(await historyOf(measured, server)),
];
