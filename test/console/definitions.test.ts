import { clone, create, fromBinary } from '@bufbuild/protobuf';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { DescriptionEntitySchema, DescriptionFormat } from '../../proto/gen/platformidl/admin/description_entity_pb.js';
import {
  type LaunchPlanCreateRequest,
  LaunchPlanCreateRequestSchema,
  LaunchPlanMetadataSchema,
  LaunchPlanState,
} from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { chromiumPath, startChromium } from '../support/browser/chromium.js';
import { barriersInLooks, openPage } from '../support/browser/console-page.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../support/requests/fixtures.js';
import { literal } from '../support/requests/hello.js';
import { registerTask } from '../support/requests/registrations.js';
import { until } from '../support/until.js';

const SCOPE = '/projects/flytesnacks/domains/development';
const PLAN = { project: 'flytesnacks', domain: 'development', name: 'hello.hello' };

/**
 * Number of the versions that are registered after `v1` and `fixed`: one more than the console lists, so that it lists
 * neither of these.
 */
const NEWER_VERSIONS = 101;

/** One more than the schedules that Home reads. */
const MANY_SCHEDULES = 101;
const YEARLY = { ScheduleExpression: { case: 'cronSchedule', value: { schedule: '0 0 1 1 *' } } } as const;

/** Counts the pixels of a canvas in the colour of quiet text. */
const NODE_PIXELS = `(() => {
  const canvas = document.querySelector('canvas');
  canvas.style.color = 'var(--quiet)';
  const quiet = getComputedStyle(canvas).color.match(/\\d+/gu).map(Number);
  canvas.style.removeProperty('color');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4)
    if (data[at + 3] > 64 && quiet.every((part, index) => Math.abs(data[at + index] - part) < 12)) count += 1;
  return count;
})()`;

const DESCRIPTION = `# Greets

It is **polite**, see [the rules](https://example.com/rules) and [not this](javascript:window.ran=1).

- once
- twice

<script>window.ran = 1</script><img src=x onerror="window.ran=1">

![a picture](https://example.com/picture.png)

[![the build](https://example.com/badge.svg)](https://example.com/builds)
`;

const plan = fromBinary(LaunchPlanCreateRequestSchema, fixtureBytes('01-hello/003-launch_plan.create_request.pb'));

/** Fixes the input `times` of the launch plan at 7, so that it has no default. */
const fixTimes = ({ spec }: LaunchPlanCreateRequest): void => {
  delete spec!.defaultInputs!.parameters['times'];
  spec!.fixedInputs = create(LiteralMapSchema, { literals: { times: literal(7n) } });
};

describe.skipIf(chromiumPath === undefined)('the pages of launch plans, workflows and tasks in the console', () => {
  let plane: ControlPlane;
  let browser: Browser;
  let page: Page;
  const errors: string[] = [];

  const open = async (path: string): Promise<void> => {
    await page.goto(`${plane.server().ready.http}/console${path}`);
  };

  const registerPlan = async (
    version: string,
    change: (request: LaunchPlanCreateRequest) => void = () => undefined,
  ) => {
    const request = clone(LaunchPlanCreateRequestSchema, plan);
    request.id!.version = version;
    change(request);
    await plane.grpc.call(AdminService.method.createLaunchPlan, request);
  };

  const activate = (version: string) =>
    plane.grpc.call(AdminService.method.updateLaunchPlan, { id: { ...PLAN, version }, state: LaunchPlanState.ACTIVE });

  beforeAll(async () => {
    plane = await startControlPlane();
    await register(plane.grpc, withNeeds('01-hello'));
    await activate('v1');
    await registerPlan('fixed', fixTimes);
    for (let version = 0; version < NEWER_VERSIONS; version += 1) await registerPlan(`newer-${version}`);
    browser = await startChromium();
    page = await openPage(browser, errors);
  });
  afterAll(async () => {
    await browser.close();
    await plane.close();
    expect(errors).toEqual([]);
  });

  it('open the launch form with the active version of a launch plan, although more than a hundred are newer', async () => {
    await open(`${SCOPE}/launch/launch_plans/hello.hello`);
    await page.getByText('version v1', { exact: false }).waitFor();
    expect(await page.getByLabel(/^times/u).inputValue()).toBe('1');
  });

  it('open the launch form again with the version that has become active, and its inputs', async () => {
    await page.getByRole('link', { name: 'Workflows' }).click();
    await page.getByRole('heading', { level: 1, name: 'Workflows' }).waitFor();
    await activate('fixed');
    await page.goBack();
    await page.getByText('version fixed').waitFor();
    await page.getByText('Fixed by the launch plan: times').waitFor();
    expect(await page.getByLabel(/^times/u).count()).toBe(0);
  });

  it('keep the launch form and what was typed when another version becomes active meanwhile', async () => {
    await page.getByRole('status').getByText('Live').waitFor();
    await page.getByLabel('Name of the execution').fill('typed');
    await page.getByLabel(/^name/u).fill('Ada');
    await activate('v1');
    // Is answered once the views have the activation.
    await plane.grpc.call(AdminService.method.getLaunchPlan, { id: { ...PLAN, version: 'v1' } });
    await page.getByRole('button', { name: 'Launch' }).click();
    await page.getByRole('heading', { level: 1, name: 'typed' }).waitFor();
    const { spec } = await plane.grpc.call(AdminService.method.getExecution, {
      id: { project: PLAN.project, domain: PLAN.domain, name: 'typed' },
    });
    expect(spec?.launchPlan?.version).toBe('fixed');
  });

  it('show the fixed and default inputs of a launch plan with their values', async () => {
    await registerPlan('v1', (request) => {
      request.id!.name = 'hello.fixed';
      fixTimes(request);
    });
    await open(`${SCOPE}/launch_plans/hello.fixed`);
    const fixed = page.locator('.card', { has: page.getByRole('heading', { name: 'Fixed inputs' }) });
    await fixed.waitFor();
    expect(await fixed.locator('dt').allTextContents()).toEqual(['times integer']);
    expect(await fixed.locator('dd').allTextContents()).toEqual(['7']);
    const defaults = page.locator('.card', { has: page.getByRole('heading', { name: 'Default inputs' }) });
    expect(await defaults.locator('dt').allTextContents()).toEqual(['name text']);
    expect(await defaults.locator('dd').allTextContents()).toEqual(['control plane']);
    expect(await barriersInLooks(page, 'fixed inputs')).toEqual([]);
  });

  it('have schedules that Home counts up to a hundred, and then says that there may be more', async () => {
    for (let count = 0; count < MANY_SCHEDULES; count += 1) {
      const name = `scheduled-${count}`;
      await registerPlan('v1', ({ id, spec }) => {
        id!.name = name;
        spec!.entityMetadata = create(LaunchPlanMetadataSchema, { schedule: YEARLY });
      });
      const id = { ...PLAN, name, version: 'v1' };
      await plane.grpc.call(AdminService.method.updateLaunchPlan, { id, state: LaunchPlanState.ACTIVE });
      if (count === 0) {
        await open('');
        await page.getByRole('link', { name: '1 schedule', exact: true }).waitFor();
      }
    }
    await page.getByRole('link', { name: 'at least 100 schedules', exact: true }).waitFor();
  });

  it('say that the version of the address does not exist', async () => {
    await open(`${SCOPE}/workflows/hello.hello?version=unknown`);
    await page.getByRole('alert').getByText('There is no version unknown; this is the newest one, v1.').waitFor();
  });

  it('show descriptions as Markdown, of which nothing runs or is loaded from elsewhere', async () => {
    await registerTask(plane.grpc, { name: 'described' }, ({ spec }) => {
      spec!.description = create(DescriptionEntitySchema, {
        longDescription: {
          content: { case: 'value', value: DESCRIPTION },
          format: DescriptionFormat.MARKDOWN,
        },
      });
    });
    const requestedHosts: string[] = [];
    page.on('request', (request) => requestedHosts.push(new URL(request.url()).hostname));
    await open(`${SCOPE}/tasks/described`);
    const shown = page.locator('.markdown');
    await shown.getByRole('heading', { name: 'Greets' }).waitFor();
    expect(await shown.getByRole('listitem').allTextContents()).toEqual(['once', 'twice']);
    expect(await shown.locator('strong').textContent()).toBe('polite');
    const links = await Promise.all((await shown.getByRole('link').all()).map((each) => each.getAttribute('href')));
    expect(links).toEqual([
      'https://example.com/rules',
      'https://example.com/picture.png',
      'https://example.com/builds',
    ]);
    await shown.getByRole('link', { name: 'the build' }).waitFor();
    await shown.getByText('javascript:window.ran=1').click();
    await shown.getByText('<script>').waitFor();
    expect(await page.evaluate('window.ran')).toBeUndefined();
    expect(await shown.locator('script, img').count()).toBe(0);
    expect(new Set(requestedHosts)).toEqual(new Set(['127.0.0.1']));
    expect(await barriersInLooks(page, 'markdown')).toEqual([]);
    page.removeAllListeners('request');
  });

  it('show a description in another format as it was written', async () => {
    await registerTask(plane.grpc, { name: 'restructured' }, ({ spec }) => {
      spec!.description = create(DescriptionEntitySchema, {
        longDescription: { content: { case: 'value', value: '# not a heading' }, format: DescriptionFormat.RST },
      });
    });
    await open(`${SCOPE}/tasks/restructured`);
    await page.locator('pre', { hasText: '# not a heading' }).waitFor();
  });

  it('draw a workflow with hundreds of nodes on a canvas', async () => {
    await register(plane.grpc, withNeeds('12-big'));
    await open(`${SCOPE}/workflows/big.wide_and_deep`);
    await page
      .locator('canvas')
      .and(page.getByRole('img', { name: 'A graph of 347 nodes.' })) // as many as the sample has
      .waitFor();
    await until(
      () => page.evaluate<number>(NODE_PIXELS),
      (pixels) => pixels >= 347,
      10_000,
    );
  });

  it('are opened by links of older consoles, also when the version has the characters + and &', async () => {
    await registerTask(plane.grpc, { name: 'versioned', version: '1.0+a&b' }, ({ spec }) => {
      spec!.description = create(DescriptionEntitySchema, { shortDescription: 'Has a plus in its version.' });
    });
    await registerTask(plane.grpc, { name: 'versioned', version: 'newest' });
    await open(`${SCOPE}/task/versioned/version/1.0+a&b`);
    await page.getByText('version 1.0+a&b').waitFor();
    expect(new URL(page.url()).searchParams.get('version')).toBe('1.0+a&b');
    await page.getByText('Has a plus in its version.').waitFor();
  });

  it('are found by any part of a name, also one with characters that separate filters', async () => {
    await registerTask(plane.grpc, { name: 'a+b,c' });
    await open(`${SCOPE}/tasks`);
    await page.getByRole('link', { name: 'versioned' }).waitFor();
    await page.getByLabel('Find tasks by name').fill('+b,');
    await page.getByRole('link', { name: 'versioned' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'a+b,c' }).waitFor();
    // Executions are searched in the same way: none has such a name, and the text is no error.
    await page.getByLabel('Find an execution by its name').fill('+b,');
    await page.getByLabel('Find an execution by its name').press('Enter');
    await page.getByText('No execution matches').waitFor();
  });
});
