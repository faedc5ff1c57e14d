import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { chromiumPath, startChromium } from '../support/browser/chromium.js';
import { openPage } from '../support/browser/console-page.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { registerTask } from '../support/requests/registrations.js';

const SCOPE = '/console/projects/flytesnacks/domains/development';

describe.skipIf(chromiumPath === undefined)('an address of the web console', () => {
  let plane: ControlPlane;
  let browser: Browser;
  let page: Page;
  const errors: string[] = [];

  const open = async (path: string): Promise<void> => {
    await page.goto(`${plane.server().ready.http}${SCOPE}/${path}`);
  };

  beforeAll(async () => {
    plane = await startControlPlane();
    await register(plane.grpc, withNeeds('01-hello'));
    await registerTask(plane.grpc, { name: 'etl/clean up', version: 'v1' });
    await registerTask(plane.grpc, { name: 'etl/clean up', version: 'a/b' });
    browser = await startChromium();
    page = await openPage(browser, errors);
  });
  afterAll(async () => {
    await browser.close();
    await plane.close();
    expect(errors).toEqual([]);
  });

  it('with an empty version leads to the newest version', async () => {
    await open('tasks/etl%2Fclean%20up?version=');
    await page.getByText('version a/b').waitFor();
    await page.getByRole('heading', { level: 2, name: 'Versions' }).waitFor();
    expect(await page.getByText('There is no version').count()).toBe(0);
  });

  it('leads to a name with a slash, whose versions are listed', async () => {
    await open('tasks');
    await page.getByRole('link', { name: 'etl/clean up' }).click();
    await page.getByRole('heading', { level: 1, name: 'etl/clean up' }).waitFor();
    await page.getByRole('link', { name: 'v1', exact: true }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'etl/clean up' }).waitFor();
    await page.getByRole('link', { name: 'v1', exact: true }).waitFor();
  });

  it('leads to the form that launches a name with a slash, which says why it cannot be read', async () => {
    await open('tasks/etl%2Fclean%20up');
    await page.getByRole('link', { name: 'Launch …' }).click();
    await page.getByRole('heading', { level: 1, name: 'Launch etl/clean up' }).waitFor();
    await page.getByRole('alert').getByText('“etl/clean up” has a slash').waitFor();
  });

  it('says that its project does not exist, or that the project has no such domain', async () => {
    await page.goto(`${plane.server().ready.http}/console/projects/flytesnack/domains/development/executions`);
    await page.getByRole('alert').getByText('There is no project “flytesnack”').waitFor();
    await page.goto(`${plane.server().ready.http}/console/projects/flytesnacks/domains/live/tasks`);
    await page.getByRole('alert').getByText('The project “flytesnacks” has no domain “live”').waitFor();
    await open('tasks');
    await page.getByRole('link', { name: 'hello.greet' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});
