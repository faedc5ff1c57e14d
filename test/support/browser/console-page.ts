import { join } from 'node:path';

import axe from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';

/**
 * The folder for screenshots, among them the one in `docs/console.md`. Set by people and not in CI, because screenshots
 * differ from machine to machine.
 */
export const PICTURES = process.env['FLIGHTLOG_TEST_PICTURES'];

type Finding = { readonly id: string; readonly nodes: readonly { readonly html: string }[] };

/** Opens a page, and adds to `errors` each error of its scripts and each breach of the content security policy. */
export const watchedPage = async (context: BrowserContext, errors: string[]): Promise<Page> => {
  const page = await context.newPage();
  page.on('pageerror', ({ message }) => errors.push(message));
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) errors.push(message.text());
  });
  return page;
};

/** Opens a page in a new browser context, 1280 by 800 pixels unless the options say otherwise, without animations. */
export const openPage = async (
  browser: Browser,
  errors: string[],
  options: BrowserContextOptions = {},
): Promise<Page> => {
  const viewport = { width: 1280, height: 800 };
  return watchedPage(await browser.newContext({ viewport, reducedMotion: 'reduce', ...options }), errors);
};

/** The barriers for people with disabilities that axe finds in a page. */
const barriersIn = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ readonly violations: readonly Finding[] }>('axe.run()');
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
};

/** The themes and widths that each view is tested in: both themes on a usual screen, and a narrow and a wide screen. */
const LOOKS = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 360 },
  { colorScheme: 'dark', width: 2560 },
] as const;

const overflowIn = async (page: Page, width: number): Promise<readonly string[]> => {
  const needed = await page.evaluate<number>('document.documentElement.scrollWidth');
  return needed > width ? [`is ${needed} px wide on a screen of ${width} px`] : [];
};

/**
 * Finds the barriers in both themes and at several widths, and the widths for which the view is too wide. Writes a
 * screenshot of each when FLIGHTLOG_TEST_PICTURES names a folder.
 */
export const barriersInLooks = async (page: Page, name: string): Promise<readonly string[]> => {
  const before = page.viewportSize();
  const found: string[] = [];
  for (const { colorScheme, width } of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    found.push(...(await overflowIn(page, width)), ...(await barriersIn(page)));
    if (PICTURES !== undefined)
      await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}-${width}.png`), fullPage: true });
  }
  if (before) await page.setViewportSize(before);
  return found;
};
