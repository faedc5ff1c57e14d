import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { AccessService } from '../../proto/gen/platformidl/eventlog/access_service_pb.js';
import { chromiumPath } from '../support/browser/chromium.js';
import { barriersInLooks } from '../support/browser/console-page.js';
import { addUser, clientOf, consoleStory, signIn } from '../support/browser/console-story.js';
import { register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';

const ID = { project: 'flytesnacks', domain: 'development' };
const PLAN = '/projects/flytesnacks/domains/development/launch_plans/hello.hello';
const LENA = { name: 'lena', password: 'password-of-lena' };

describe.skipIf(chromiumPath === undefined)('a person at the console with rights in one project and domain', () => {
  const story = consoleStory('limited', { FLIGHTLOG_AUTH_SERVER_ENABLED: 'true' });
  let page: Page;

  const address = (path: string): string => `${story.server().ready.http}/console${path}`;

  beforeAll(async () => {
    await addUser(story.data, LENA);
    await story.start();
    const root = await clientOf(story, 'root', 'administrator');
    await register(root, withNeeds('01-hello'));
    const binding = { ...ID, principal: LENA.name, role: 'administrator' };
    await root.call(AccessService.method.grant, { binding });
    root.close();
    page = await story.open();
  });
  afterAll(() => story.close());

  it('sees the event that an action has recorded', async () => {
    await signIn(page, LENA, address(PLAN));
    await page.getByRole('button', { name: 'Activate …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click();
    const note = page.getByRole('status', { name: 'Recorded event' });
    await note.getByText('LaunchPlanActivated by lena').waitFor();
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    await note.getByRole('link').click();
    await page.getByRole('list', { name: 'Events' }).getByText('LaunchPlanActivated', { exact: true }).waitFor();
  });

  it('sees that a page is not live because the person may not follow all of it, and not that the server is away', async () => {
    let refusals = 0;
    page.on('response', (answer) => {
      if (answer.url().includes('/api/v1/tail') && answer.status() === 403) refusals += 1;
    });
    await page.goto(address('/'));
    await page.getByText('Not live: you may not follow all that this page shows').waitFor();
    expect(refusals).toBeGreaterThan(0);
    expect(await page.getByText('The server does not answer').count()).toBe(0);
    // On a small screen the text "Live" becomes a dot of a few pixels; this text stays.
    expect(await barriersInLooks(page, 'not live')).toEqual([]);
    await page.setViewportSize({ width: 360, height: 640 });
    const { width } = (await page.getByText('Not live: you may not follow').boundingBox())!;
    expect(width).toBeGreaterThan(200);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(address(PLAN));
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
  });

  it('follows the audit of the project and domain', async () => {
    await page.goto(address('/audit?project=flytesnacks&domain=development'));
    await page.getByRole('row', { name: /OK lena .*UpdateLaunchPlan/u }).waitFor();
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    expect(story.errors).toEqual([]);
  });
});
