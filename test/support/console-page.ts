import { join } from 'node:path';

import axe from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';

/** A folder that gets the pictures of the documents; by hand, because pictures differ from machine to machine. */
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

/** Opens a page of its own size, without motion. */
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

/** The barriers in both themes. Writes a picture of each, where FLIGHTLOG_TEST_PICTURES names a folder. */
export const barriersInThemes = async (page: Page, name: string): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    found.push(...(await barriersIn(page)));
    if (PICTURES !== undefined)
      await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}.png`), fullPage: true });
  }
  return found;
};
