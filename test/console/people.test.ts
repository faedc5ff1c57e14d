import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { runEngine } from '../../engine/engine.js';
import { chromiumPath } from '../support/browser/chromium.js';
import { consoleStory } from '../support/browser/console-story.js';
import { engineOptions, register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { launchHello } from '../support/requests/hello.js';
import { overGrpc } from '../support/clients/transports.js';

const silentLogger = { debug: () => undefined, info: () => undefined, warn: () => undefined };

/** The stories of people, each with the server killed and started again while they look at the page. */
describe.skipIf(chromiumPath === undefined)('a person at the console, whose server is killed', () => {
  const story = consoleStory('people');
  let page: Page;

  /** Runs the simulated engine until all executions have ended; with the probability 1 every task fails. */
  const run = (failureProbability = 0) =>
    runEngine(engineOptions(story.server(), { failureProbability }), {
      signal: new AbortController().signal,
      logger: silentLogger,
    });

  beforeAll(async () => {
    await story.start();
    const api = overGrpc(story.server().ready);
    await register(api, withNeeds('01-hello'));
    await launchHello(api, 'good');
    await run();
    await launchHello(api, 'broken');
    await run(1);
    api.close();
    page = await story.open();
  });
  afterAll(() => story.close());

  it('finds the error of an execution and the start of its node, compares it with the last good one, and recovers it', async () => {
    await page.goto(story.server().ready.http);
    await page.getByRole('link', { name: 'broken' }).first().click();
    await page
      .getByRole('heading', { name: /SimulatedFailure/u })
      .first()
      .waitFor();
    await page
      .getByRole('complementary', { name: /Node n0/u })
      .getByText('Started')
      .first()
      .waitFor();
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    await story.restart(page);
    await page.getByRole('link', { name: /last good one/u }).click();
    await page.getByRole('cell', { name: 'closure/phase' }).first().waitFor();
    await page.getByRole('button', { name: 'Recover …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Recover', exact: true }).click();
    await page.getByText('recovered', { exact: true }).waitFor();
    await run();
    await page.locator('.page-head .badge', { hasText: 'Succeeded' }).waitFor();
  });

  it('sees a run, launches another with inputs that stay in the form while the server is away, and sees its outputs', async () => {
    await page.goto(story.server().ready.http);
    await page.getByRole('link', { name: 'development' }).first().click();
    await page.getByRole('row', { name: /good/u }).getByRole('link', { name: 'good' }).click();
    await page.locator('.page-head .badge', { hasText: 'Succeeded' }).waitFor();
    await page.getByRole('link', { name: 'Relaunch …' }).click();
    await page.getByLabel('Name of the execution').fill('mine');
    await page.getByLabel(/^times/u).fill('2');
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    await story.server().kill();
    await page.getByRole('button', { name: 'Launch' }).click();
    await page.getByRole('alert').getByText('the server does not answer').waitFor();
    await page.getByRole('alert').getByText('The page does not send the request again').waitFor();
    await story.start();
    await page.getByRole('button', { name: 'Launch' }).click();
    await page.getByRole('heading', { name: 'mine' }).waitFor();
    await page.getByText('Relaunched or recovered from').waitFor();
    await page.getByRole('link', { name: 'good', exact: true }).waitFor();
    await run();
    await page.locator('.page-head .badge', { hasText: 'Succeeded' }).waitFor();
    await page.getByRole('link', { name: 'Inputs and outputs' }).click();
    await page.getByText('2', { exact: true }).waitFor();
    const outputs = page.locator('.card', { has: page.getByRole('heading', { name: 'Outputs', exact: true }) });
    await outputs.locator('dd').first().waitFor();
    expect(story.errors).toEqual([]);
  });
});
