import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { processorMs } from '../processor-time.js';

/** Frames of a page over some time, and what they cost. */
export type Frames = {
  readonly perSecond: number;
  /** 95th percentile of the time between two frames. */
  readonly p95Ms: number;
  /** Processor time of the page's main thread for a frame. */
  readonly mainThreadMs: number;
  /** Processor time of all processes of the browser for a frame; other cores may take a part of it. */
  readonly browserMs: number;
};

/** Scripts for the page: one begins to note the time of each frame, the other ends that and returns the times. */
const START_FRAMES = `{
  window.frames_ = [];
  const next = (at) => { window.frames_?.push(at); if (window.frames_) requestAnimationFrame(next); };
  requestAnimationFrame(next);
}`;
const STOP_FRAMES = `(() => { const all = window.frames_; window.frames_ = undefined; return all; })()`;

const KB = 1_024;

/** The browser and the server are idle when both together take at most this processor time within a window. */
const IDLE_MS = 20;
const IDLE_WINDOW_MS = 500;
const MAX_IDLE_WAIT_MS = 30_000;

/** Measures the frames, the processor time and the memory of a page. */
export type Meter = {
  /** Measures the frames while something is done to the page. */
  readonly frames: (work: () => Promise<void>) => Promise<Frames>;
  /** Processor time of the main thread since the last navigation, in milliseconds. */
  readonly mainThreadMs: () => Promise<number>;
  /**
   * Waits, for at most 30 seconds, until the browser and the process `pid` are idle: a browser that has just started
   * loads pages of its own, and a server may still be updating its views.
   */
  readonly untilIdle: (pid: number) => Promise<void>;
  /** JavaScript values that are in use, and memory that the process of the page shares with no other, in MB. */
  readonly memory: () => Promise<{ readonly heapMb: number; readonly processMb: number }>;
};

type ProcessInfo = { readonly type: string; readonly id: number };

const processesOf = async (browser: CDPSession): Promise<readonly ProcessInfo[]> =>
  (await browser.send('SystemInfo.getProcessInfo')).processInfo;

const privateMb = (pid: number): number => {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'mu').exec(rollup)?.[1] ?? 0);
  return (kilobytes('Private_Dirty') + kilobytes('Private_Clean')) / KB;
};

/** Opens a meter of the only page of a browser. */
export const meterOf = async (browser: Browser, page: Page): Promise<Meter> => {
  const ofBrowser = await browser.newBrowserCDPSession();
  const ofPage = await page.context().newCDPSession(page);
  await ofPage.send('Performance.enable', { timeDomain: 'threadTicks' });
  const metric = async (name: string): Promise<number> => {
    const { metrics } = await ofPage.send('Performance.getMetrics');
    return metrics.find((each) => each.name === name)?.value ?? Number.NaN;
  };
  const mainThreadMs = async (): Promise<number> => (await metric('TaskDuration')) * 1_000;
  const browserMs = async (): Promise<number> =>
    (await processesOf(ofBrowser)).reduce((sum, { id }) => sum + processorMs(id), 0);
  const workIn = async (pid: number): Promise<number> => {
    const before = (await browserMs()) + processorMs(pid);
    await setTimeout(IDLE_WINDOW_MS);
    return (await browserMs()) + processorMs(pid) - before;
  };
  return {
    mainThreadMs,
    untilIdle: async (pid) => {
      const until = performance.now() + MAX_IDLE_WAIT_MS;
      while ((await workIn(pid)) > IDLE_MS && performance.now() < until);
    },
    frames: async (work) => {
      const [mainBefore, browserBefore] = [await mainThreadMs(), await browserMs()];
      await page.evaluate(START_FRAMES);
      await work();
      const frameTimes = await page.evaluate<number[]>(STOP_FRAMES);
      const [main, all] = [(await mainThreadMs()) - mainBefore, (await browserMs()) - browserBefore];
      const between = frameTimes.slice(1).map((each, index) => each - (frameTimes[index] ?? 0));
      const ms = between.reduce((sum, each) => sum + each, 0);
      return {
        perSecond: (between.length * 1_000) / ms,
        p95Ms: between.sort((a, b) => a - b)[Math.floor(between.length * 0.95)] ?? Number.NaN,
        mainThreadMs: main / frameTimes.length,
        browserMs: all / frameTimes.length,
      };
    },
    memory: async () => {
      await ofPage.send('HeapProfiler.collectGarbage');
      const renderers = (await processesOf(ofBrowser)).filter(({ type }) => type === 'renderer');
      return {
        heapMb: (await metric('JSHeapUsedSize')) / KB / KB,
        processMb: Math.max(...renderers.map(({ id }) => privateMb(id))),
      };
    },
  };
};
