import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { chromiumPath, startChromium } from '../support/browser/chromium.js';
import { openPage } from '../support/browser/console-page.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';

const ID = { project: 'flytesnacks', domain: 'development' };
const FORM = '/console/projects/flytesnacks/domains/development/launch/launch_plans/hello.hello';

describe.skipIf(chromiumPath === undefined)('the form of a launch', () => {
  let plane: ControlPlane;
  let browser: Browser;
  let page: Page;
  const errors: string[] = [];

  const open = async (executionName: string): Promise<void> => {
    await page.goto(`${plane.server().ready.http}${FORM}`);
    await page.getByLabel('Name of the execution').fill(executionName);
  };

  /** Waits for the page of an execution, and gives its input `name`. */
  const nameOf = async (executionName: string): Promise<unknown> => {
    await page.getByRole('heading', { level: 1, name: executionName }).waitFor();
    const id = { ...ID, name: executionName };
    const { fullInputs } = await plane.grpc.call(AdminService.method.getExecutionData, { id });
    const { value } = fullInputs!.literals['name']!;
    return value.case === 'scalar' && value.value.value.case === 'primitive' && value.value.value.value.value.value;
  };

  beforeAll(async () => {
    plane = await startControlPlane();
    await register(plane.grpc, withNeeds('01-hello'));
    browser = await startChromium();
    page = await openPage(browser, errors);
  });
  afterAll(async () => {
    await browser.close();
    await plane.close();
    expect(errors).toEqual([]);
  });

  it('is sent by Enter in a text of one line', async () => {
    await open('one-line');
    await page.getByLabel(/^name/u).fill('Ada');
    await page.getByLabel(/^name/u).press('Enter');
    expect(await nameOf('one-line')).toBe('Ada');
  });

  it('begins a second line by Shift and Enter, has further lines by Enter, and is then sent by Control and Enter', async () => {
    await open('three-lines');
    await page.getByText('Ctrl+Enter').waitFor();
    await page.getByLabel(/^name/u).fill('one');
    await page.getByLabel(/^name/u).press('Shift+Enter');
    await page.keyboard.type('two');
    await page.keyboard.press('Enter');
    await page.keyboard.type('three');
    await page.keyboard.press('ControlOrMeta+Enter');
    expect(await nameOf('three-lines')).toBe('one\ntwo\nthree');
  });

  it('is not sent while a value is wrong, says so, and leads to its field', async () => {
    await open('no-number');
    await page.getByLabel(/^times/u).fill('many');
    await page.getByLabel(/^name/u).fill('Ada');
    await page.getByLabel(/^name/u).press('Enter');
    await page.getByText('times: write a whole number').waitFor();
    expect(await page.locator(':focus').getAttribute('id')).toBe('input-times');
    expect(await page.getByLabel(/^name/u).inputValue()).toBe('Ada');
  });
});
