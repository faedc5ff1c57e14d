import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { chromiumPath } from '../support/browser/chromium.js';
import { addUser, clientOf, consoleStory, signIn } from '../support/browser/console-story.js';
import { register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import type { Credentials } from '../support/browser/sign-in.js';

const LIST = '/projects/flytesnacks/domains/development/executions';
const ALICE = { name: 'alice', password: 'password-of-alice' };
const VERA = { name: 'vera', password: 'password-of-vera' };

describe.skipIf(chromiumPath === undefined)('signing in to the web console', () => {
  const story = consoleStory('signing-in', { FLIGHTLOG_AUTH_SERVER_ENABLED: 'true' });

  /** Opens a page of the console in a browser context of its own, and signs the person in. */
  const signedIn = async (person: Credentials, path: string): Promise<Page> => {
    const page = await story.open();
    await signIn(page, person, `${story.server().ready.http}/console${path}`);
    return page;
  };

  beforeAll(async () => {
    await addUser(story.data, ALICE, 'administrator');
    await addUser(story.data, VERA, 'viewer');
    await story.start();
    const ci = await clientOf(story, 'ci', 'contributor');
    await register(ci, withNeeds('01-hello'));
    ci.close();
  });
  afterAll(() => story.close());

  it('leads to the page that was asked for, which names the person and signs out', async () => {
    const page = await signedIn(ALICE, LIST);
    await page.getByRole('heading', { name: 'Executions' }).waitFor();
    await page.getByText('Signed in as alice').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.getByRole('link', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('User name').waitFor();
    expect(story.errors).toEqual([]);
  });

  it('leads to the sign-out although another request of the page gets 401 before the answer to the sign-out', async () => {
    const page = await signedIn(ALICE, '/');
    await page.getByText('Signed in as alice').waitFor();
    await page.route('**/logout', async (route) => {
      const response = await route.fetch({ maxRedirects: 0 });
      await page.waitForResponse((answer) => answer.status() === 401);
      await route.fulfill({ response });
    });
    await page.getByRole('link', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  });

  it('leads to the sign-in when the session has ended after a sign-out that the person has stopped', async () => {
    const page = await signedIn(ALICE, LIST);
    await page.getByText('Signed in as alice').waitFor();
    // The script below asks for /begun, an address that only this test answers; it then stops loading, as a person does
    // by the browser's button, and follows a link of the page.
    let begun: Route | undefined;
    await page.route('**/begun', (route) => {
      begun = route;
    });
    await page.route('**/logout', async () => {
      await page.context().clearCookies();
      await expect.poll(() => begun).toBeDefined();
      await begun!.fulfill({ status: 204 }); // and the request to /logout gets no answer
    });
    await page.evaluate(`void fetch('/begun').then(() => {
      stop();
      document.querySelector('a[href$="/workflows"]').click();
    })`);
    await page.getByRole('link', { name: 'Sign out' }).click({ noWaitAfter: true });
    await page.getByLabel('User name').waitFor();
  });

  it('lets an administrator create a project', async () => {
    const page = await signedIn(ALICE, '/');
    await page.getByText('Signed in as alice').waitFor();
    const created = await page.evaluate(async () => {
      const answer = await fetch('/api/v1/projects', {
        method: 'POST',
        headers: { 'flightlog-csrf': 'test' },
        body: JSON.stringify({ project: { id: 'by-alice', name: 'by-alice' } }),
      });
      return answer.status;
    });
    expect(created).toBe(200);
  });

  it('leads to the sign-in when the session has ended and only the live stream asks the server', async () => {
    const page = await signedIn(ALICE, '/events');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.context().clearCookies();
    await page.getByLabel('Project', { exact: true }).fill('flytesnacks');
    await page.getByRole('button', { name: 'Follow' }).click();
    await page.getByLabel('User name').waitFor();
  });

  it('shows a viewer the form of a launch, and says which permission the launch needs', async () => {
    const page = await signedIn(VERA, LIST.replace('executions', 'launch/launch_plans/hello.hello?version=v1'));
    await page.getByText('Signed in as vera').waitFor();
    await page.getByRole('button', { name: 'Launch' }).click();
    const note = page.getByRole('alert');
    await note.waitFor();
    expect(await note.innerText()).toMatch(/execute.*flytesnacks.*\s+Ask an operator for the permission/u);
  });

  it('leads from the executions to a launch only people with the permission', async () => {
    const alices = await signedIn(ALICE, LIST);
    await alices.getByRole('link', { name: 'Launch …' }).waitFor();
    const veras = await signedIn(VERA, LIST);
    const answered = veras.waitForResponse((answer) => answer.url().includes('/api/v1/access/permissions'));
    await veras.reload();
    await answered;
    await veras.getByText('No execution matches').waitFor();
    expect(await veras.getByRole('link', { name: 'Launch …' }).count()).toBe(0);
  });

  it('shows the actions on a launch plan only to people with the permission', async () => {
    const plan = LIST.replace('executions', 'launch_plans/hello.hello');
    const alicesPage = await signedIn(ALICE, plan);
    await alicesPage.getByRole('link', { name: 'Launch …' }).waitFor();
    await alicesPage.getByRole('button', { name: 'Activate' }).waitFor();
    const verasPage = await signedIn(VERA, plan);
    const asked = verasPage.waitForResponse((answer) => answer.url().includes('/api/v1/access/permissions'));
    await verasPage.reload();
    await asked;
    await verasPage.getByRole('link', { name: 'Its executions' }).waitFor();
    expect(await verasPage.getByRole('link', { name: 'Launch …' }).count()).toBe(0);
    expect(await verasPage.getByRole('button', { name: 'Activate' }).count()).toBe(0);
    expect(story.errors).toEqual([]);
  });
});
