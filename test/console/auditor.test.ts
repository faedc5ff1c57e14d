import { readFileSync } from 'node:fs';
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { chromiumPath } from '../support/browser/chromium.js';
import { barriersInLooks } from '../support/browser/console-page.js';
import { addUser, clientOf, consoleStory, signIn } from '../support/browser/console-story.js';
import { register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { launchHello } from '../support/requests/hello.js';

const EXECUTIONS = '/console/projects/flytesnacks/domains/development/executions';
const ALICE = { name: 'alice', password: 'password-of-alice' };
const BOB = { name: 'bob', password: 'password-of-bob' };
const VERA = { name: 'vera', password: 'password-of-vera' };
const CAUSE = 'the input was of the wrong month';

type Entry = Readonly<Record<string, string>>;

describe.skipIf(chromiumPath === undefined)('the story of an auditor', () => {
  const story = consoleStory('auditor', { FLIGHTLOG_AUTH_SERVER_ENABLED: 'true' });
  let page: Page;

  const address = (path: string): string => `${story.server().ready.http}${path}`;

  const launch = async (): Promise<void> => {
    const ci = await clientOf(story, 'ci', 'contributor');
    await register(ci, withNeeds('01-hello'));
    await launchHello(ci, 'stopped');
    ci.close();
  };

  /** Terminates the execution as the contributor bob, after the viewer vera has been refused. */
  const terminate = async (): Promise<void> => {
    const [bobsPage, verasPage] = [await story.open(), await story.open()];
    await signIn(bobsPage, BOB, address(`${EXECUTIONS}/stopped`));
    await signIn(verasPage, VERA, address(`${EXECUTIONS}/stopped`));
    const refused = await verasPage.evaluate(async () => {
      const path = '/api/v1/executions/flytesnacks/development/stopped';
      return (await fetch(path, { method: 'DELETE', headers: { 'flightlog-csrf': 'test' } })).status;
    });
    expect(refused).toBe(403);
    await bobsPage.getByRole('button', { name: 'Terminate …' }).click();
    await bobsPage.getByLabel(/^Cause/u).fill(CAUSE);
    await bobsPage.getByRole('button', { name: 'Terminate', exact: true }).click();
    await bobsPage.getByText(CAUSE).first().waitFor();
    await Promise.all([bobsPage.context().close(), verasPage.context().close()]);
  };

  /** Exports the entries that the search finds; gives the text of the file. */
  const exportAs = async (format: string): Promise<string> => {
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: `Export ${format}` }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toMatch(new RegExp(`^audit-.*Z\\.${format.toLowerCase()}$`, 'u'));
    return readFileSync(await download.path(), 'utf8');
  };

  beforeAll(async () => {
    await addUser(story.data, ALICE, 'administrator');
    await addUser(story.data, BOB, 'contributor');
    await addUser(story.data, VERA, 'viewer');
    await story.start();
    await launch();
    await terminate();
    page = await story.open();
  });
  afterAll(() => story.close());

  it('finds the person that terminated an execution, the cause, and the moment, while the server is killed and started again', async () => {
    await signIn(page, ALICE, address(`${EXECUTIONS}/stopped`));
    await page.getByRole('heading', { name: 'Termination requested by bob' }).waitFor();
    await page.getByText(CAUSE).first().waitFor();
    await story.restart(page);
    await page.getByRole('link', { name: 'History' }).click();
    const step = page.getByRole('button', { name: new RegExp(`Aborting by bob · ${CAUSE}`, 'u') });
    expect(await step.locator('code').getAttribute('title')).toMatch(/^occurred \d.*Z\nrecorded \d.*Z\nrequest \S/u);
    await page.getByRole('slider').press('Home');
    await page.getByText('As of position').waitFor();
    await page.locator('.page-head .badge', { hasText: 'Queued' }).waitFor();
  });

  it('shows calls that were refused, and finds the calls of one person', async () => {
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('row', { name: /PERMISSION_DENIED vera .*AdminService.TerminateExecution/u }).waitFor();
    await page.getByLabel('Principal').fill('bob');
    await page.getByRole('button', { name: 'Search' }).click();
    const row = page.getByRole('row', { name: /OK bob .*AdminService.TerminateExecution/u });
    await row.waitFor();
    expect(await page.getByRole('row', { name: /vera/u }).count()).toBe(0);
    expect(await barriersInLooks(page, 'audit-of-bob')).toEqual([]);
  });

  it('shows no failure when a second search replaces a search that has not been answered', async () => {
    const searches: Route[] = [];
    await page.route('**/api/v1/audit*', (route) => void searches.push(route));
    for (const [principal, count] of [
      ['vera', 1],
      ['bob', 2],
    ] as const) {
      await page.getByLabel('Principal').fill(principal);
      await page.getByRole('button', { name: 'Search' }).click();
      await expect.poll(() => searches.length).toBe(count);
    }
    await page.locator('.loading').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await searches[1]!.continue();
    await page.unroute('**/api/v1/audit*');
    await page.getByRole('row', { name: /OK bob .*AdminService.TerminateExecution/u }).waitFor();
  });

  it('exports the entries that a search has found as CSV, and all entries as JSON', async () => {
    const csv = await exportAs('CSV');
    expect(csv.split('\r\n')[0]).toMatch(/^id,kind,at,/u);
    expect(csv).toMatch(/,bob,.*,AdminService\.TerminateExecution,flytesnacks,development,stopped,OK,/u);
    expect(csv).not.toContain('vera');
    await page.getByLabel('Principal').fill('');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('row', { name: /vera/u }).first().waitFor();
    const entries = JSON.parse(await exportAs('JSON')) as readonly Entry[];
    const actions = entries.map(({ principal, action, code }) => [principal, action, code]);
    expect(actions).toContainEqual(['vera', 'AdminService.TerminateExecution', 'PERMISSION_DENIED']);
    expect(actions).toContainEqual(['ci', 'AdminService.CreateExecution', 'OK']);
  });

  it('goes from the entry of a call to the event that the call has recorded', async () => {
    await page
      .getByRole('row', { name: /OK bob .*AdminService.TerminateExecution/u })
      .getByRole('link')
      .click();
    await page.getByText('TerminationRequested').first().click();
    await page.locator('.tail pre', { hasText: CAUSE }).first().waitFor();
    expect(story.errors).toEqual([]);
  });
});
