import type { Locator, Page } from 'playwright-core';
import type { Limited } from '../bench.js';
import { processorMs } from '../processor-time.js';
import type { Frames, Meter } from './meter.js';

/** Minimum number of frames per second, and maximum time of the main thread for a frame, in milliseconds. */
const FRAMES = { perSecond: 30, ms: 1_000 / 30 };
/** Steps of a drag in one direction, or of a turn of the wheel; each is an event of the mouse. */
const STEPS = 90;
/** Pixels that a step of the wheel scrolls by, where the caller names no other number. */
const WHEEL_PX = 900;

/** The page that is measured, its meter, and the process of the server that it reads from. */
export type Measured = { readonly page: Page; readonly meter: Meter; readonly serverPid: number };

/** A figure with its upper limit; without a limit it is only reported. */
export const atMost = (name: string, value: number, unit: string, limit?: number): Limited => ({
  ...{ name, value, unit },
  ...(limit !== undefined && { limit: { kind: 'most', value: limit } }),
});

/** The figures of measured frames, with the limits of {@link FRAMES}. */
export const framesOf = (name: string, { perSecond, p95Ms, mainThreadMs, browserMs }: Frames): readonly Limited[] => [
  { name: `${name}: frames`, value: perSecond, unit: '/s', limit: { kind: 'least', value: FRAMES.perSecond } },
  atMost(`${name}: p95 between frames`, p95Ms, 'ms'),
  atMost(`${name}: main thread for a frame`, mainThreadMs, 'ms', FRAMES.ms),
  atMost(`${name}: browser for a frame`, browserMs, 'ms'),
];

/** Measures the time that opening an address takes: by the clock, and of the processors of the page and the server. */
export const opening = async (
  { meter, serverPid }: Measured,
  name: string,
  { open, limitMs }: { readonly open: () => Promise<void>; readonly limitMs: number },
): Promise<readonly Limited[]> => {
  const serverBefore = processorMs(serverPid);
  const started = performance.now();
  await open();
  const tookMs = performance.now() - started;
  return [
    atMost(name, tookMs, 'ms', limitMs),
    atMost(`${name}: main thread`, await meter.mainThreadMs(), 'ms', limitMs),
    atMost(`${name}: server`, processorMs(serverPid) - serverBefore, 'ms'),
  ];
};

/** Waits until the page has painted what it shows now; a browser drops the keys of a page that was never painted. */
export const painted = async (page: Page): Promise<void> => {
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
};

const boxOf = async (element: Locator): Promise<{ x: number; y: number; width: number; height: number }> => {
  const box = await element.boundingBox();
  if (!box) throw new Error('the element is not on the page');
  return box;
};

/** Drags over an element, from one fraction of its width to another, and with `back` on to where the drag began. */
export const dragged = async (
  { page }: Measured,
  element: Locator,
  { from, to, back = false }: { readonly from: number; readonly to: number; readonly back?: boolean },
): Promise<void> => {
  const { x, y, width, height } = await boxOf(element);
  const middle = y + height / 2;
  await page.mouse.move(x + width * from, middle);
  await page.mouse.down();
  await page.mouse.move(x + width * to, middle, { steps: STEPS });
  if (back) await page.mouse.move(x + width * from, middle, { steps: STEPS });
  await page.mouse.up();
};

/** Turns the wheel over an element in `steps` steps of `stepPx` pixels. */
export const wheeled = async (
  { page }: Measured,
  element: Locator,
  stepPx = WHEEL_PX,
  steps = STEPS,
): Promise<void> => {
  const { x, y, width, height } = await boxOf(element);
  const bottom = Math.min(y + height, page.viewportSize()?.height ?? Infinity);
  await page.mouse.move(x + width / 2, (y + bottom) / 2);
  for (let step = 0; step < steps; step += 1) await page.mouse.wheel(0, stepPx);
};
