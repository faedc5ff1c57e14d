import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { chromiumPath, startChromium } from '../support/browser/chromium.js';
import { openPage } from '../support/browser/console-page.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { launchHello, literal } from '../support/requests/hello.js';
import { workflowReport } from '../support/requests/reports.js';
import { LaunchPlanState } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { ScheduleService } from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { SimpleType } from '../../proto/gen/platformidl/core/types_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { SignalService } from '../../proto/gen/platformidl/service/signal_pb.js';

const SCOPE = '/console/projects/flytesnacks/domains/development';
const ID = { project: 'flytesnacks', domain: 'development' };
/** One more than the signals that the page of an execution reads at once. */
const MANY_SIGNALS = 101;
/** Settings: mail about executions that fail, by a mail server that does not exist. */
const MAIL = {
  FLIGHTLOG_NOTIFICATIONS_SMTP_HOST: '127.0.0.1',
  FLIGHTLOG_NOTIFICATIONS_SMTP_PORT: '9',
  FLIGHTLOG_NOTIFICATIONS_RULES: '[{ phases: [FAILED], channel: mail, recipients: [ada@example.com] }]',
};
const PLAN = { ...ID, name: 'pipeline.churn_daily', version: 'v1', resourceType: ResourceType.LAUNCH_PLAN };

/** Requests of a page that are held back until a test answers them. */
type Held = {
  /** The requests that have come so far. */
  readonly requests: readonly Route[];
  /** Resolves when the first has come. */
  readonly first: Promise<void>;
};

/** Holds back the requests of a page to addresses that match a pattern. */
const holdBack = async (page: Page, pattern: RegExp): Promise<Held> => {
  const requests: Route[] = [];
  const first = new Promise<void>((resolve) => {
    void page.route(pattern, (request) => {
      requests.push(request);
      resolve();
    });
  });
  await page.evaluate('1'); // when the page has answered, it knows the pattern
  return { requests, first };
};

describe.skipIf(chromiumPath === undefined)('an action of the web console', () => {
  let plane: ControlPlane;
  let browser: Browser;
  let page: Page;
  const errors: string[] = [];

  const setPlanState = (state: LaunchPlanState) =>
    plane.grpc.call(AdminService.method.updateLaunchPlan, { id: PLAN, state });

  const open = async (path: string): Promise<void> => {
    await page.goto(`${plane.server().ready.http}${SCOPE}/${path}`);
  };

  beforeAll(async () => {
    plane = await startControlPlane(MAIL);
    await register(plane.grpc, withNeeds('01-hello', '14-pipeline'));
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser.close();
    await plane.close();
    expect(errors).toEqual([]);
  });
  beforeEach(async () => {
    await setPlanState(LaunchPlanState.ACTIVE);
    await plane.grpc.call(ScheduleService.method.resumeSchedule, { ...ID, name: PLAN.name });
    page = await openPage(browser, errors);
  });
  afterEach(() => page.context().close());

  it('is sent once when its button is clicked twice, and its dialog stays open for the answer and its error', async () => {
    await open('schedules');
    const held = await holdBack(page, /\/fire$/u);
    await page.getByRole('button', { name: 'Fire now …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Fire now' }).evaluate((button: { click: () => void }) => {
      button.click();
      button.click();
    });
    await held.first;
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5); // beside the dialog
    expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    expect(await dialog.getByRole('button', { name: 'Fire now' }).isDisabled()).toBe(true);
    await held.requests[0]!.fulfill({ status: 503, body: '' });
    await dialog.getByRole('alert').getByText('the server answered 503').waitFor();
    expect(held.requests).toHaveLength(1);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('is sent once by the form of a launch, which keeps its fields when the server answers 503', async () => {
    await open('launch/launch_plans/hello.hello');
    await page.getByLabel(/^name/u).fill('Ada');
    const held = await holdBack(page, /\/api\/v1\/executions$/u);
    await page.getByRole('button', { name: 'Launch' }).evaluate((button: { click: () => void }) => {
      button.click();
      button.click();
    });
    await held.first;
    expect(await page.getByRole('button', { name: 'Launch' }).isDisabled()).toBe(true);
    await held.requests[0]!.fulfill({ status: 503, body: '' });
    await page.getByRole('alert').getByText('the server answered 503').waitFor();
    expect(held.requests).toHaveLength(1);
    expect(await page.getByLabel(/^name/u).inputValue()).toBe('Ada');
  });

  it('closes its dialog when the server has answered, while the page still reads the schedules again', async () => {
    await open('schedules');
    await page.getByRole('button', { name: 'Pause …' }).click();
    const held = await holdBack(page, /\/api\/v1\/schedules\/flytesnacks\/development$/u);
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await held.first;
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('that is dangerous is not sent by Enter in a new dialog, whose focus is on its button Cancel', async () => {
    await open('schedules');
    await page.getByRole('button', { name: 'Skip next …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await page.getByRole('status', { name: 'Recorded event' }).textContent()).toBe('');
  });

  it('keeps the question of its dialog and does what it says when another client changes the launch plan meanwhile', async () => {
    await open('launch_plans/pipeline.churn_daily?version=v1');
    await page.getByRole('button', { name: 'Deactivate …' }).click();
    await setPlanState(LaunchPlanState.INACTIVE);
    // The page behind the dialog, which is hidden from assistive technology, shows the change.
    await page.getByRole('button', { name: 'Activate …', exact: true, includeHidden: true }).waitFor();
    const dialog = page.getByRole('dialog', { name: /^Deactivate / });
    await dialog.getByText('No version is active then').waitFor();
    await dialog.getByRole('button', { name: 'Deactivate', exact: true }).click();
    await page.getByRole('status', { name: 'Recorded event' }).getByText('Nothing new was recorded').waitFor();
  });

  it('keeps its dialog and what was typed there when its button goes away, and shows the refusal', async () => {
    const id = await launchHello(plane.grpc, 'ends-meanwhile');
    await open('executions/ends-meanwhile');
    await page.getByRole('button', { name: 'Terminate …' }).click();
    await page.getByRole('dialog').getByLabel('Cause').fill('too slow');
    await plane.grpc.call(AdminService.method.createWorkflowEvent, workflowReport(id, { phase: Phase.FAILED }));
    // The page behind the dialog is hidden from assistive technology.
    await page.getByRole('button', { name: 'Archive …', includeHidden: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Terminate …', includeHidden: true }).count()).toBe(0);
    const dialog = page.getByRole('dialog', { name: 'Terminate ends-meanwhile' });
    expect(await dialog.getByLabel('Cause').inputValue()).toBe('too slow');
    await dialog.getByRole('button', { name: 'Terminate' }).click();
    await dialog.getByRole('alert').getByText('Cannot abort').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.locator('h1:focus').innerText()).toBe('ends-meanwhile');
  });

  it('keeps its dialog and its page when keys are pressed there that lead to other pages elsewhere', async () => {
    await open('schedules');
    await page.getByRole('button', { name: 'Fire now …' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).press('?');
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    expect(await page.getByRole('dialog').allInnerTexts()).toHaveLength(1);
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { level: 1, name: 'Schedules' }).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/\/schedules$/u);
  });

  it('keeps its dialog and its page when such keys are pressed while it is sent, and after its error', async () => {
    await open('schedules');
    const held = await holdBack(page, /\/fire$/u);
    await page.getByRole('button', { name: 'Fire now …' }).press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Fire now' }).click();
    await held.first;
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await held.requests[0]!.fulfill({ status: 503, body: '' });
    await dialog.getByRole('alert').getByText('the server answered 503').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    expect(await dialog.allInnerTexts()).toHaveLength(1);
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { level: 1, name: 'Schedules' }).waitFor();
  });

  it('leaves no dialog open on another page', async () => {
    await open('schedules');
    await page.getByRole('link', { name: 'Tasks' }).click();
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Fire now …' }).click();
    await page.getByRole('dialog').waitFor();
    await page.goForward();
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.goBack();
    await page.getByRole('button', { name: 'Fire now …' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('asks to skip the tick that its dialog names, although another client has skipped that tick meanwhile', async () => {
    await open('schedules');
    await page.getByRole('button', { name: 'Skip next …' }).click();
    const dialog = page.getByRole('dialog');
    const sentence = await dialog.getByText('No execution starts at').innerText();
    const { schedules } = await plane.grpc.call(ScheduleService.method.listSchedules, ID);
    const [next] = schedules.find(({ id }) => id?.name === PLAN.name)!.next;
    await plane.grpc.call(ScheduleService.method.skipTick, { ...ID, name: PLAN.name, at: next! });
    await page.getByText('Will be skipped').waitFor();
    expect(await dialog.getByText('No execution starts at').innerText()).toBe(sentence);
    await dialog.getByRole('button', { name: 'Skip next' }).click();
    await page.getByRole('status', { name: 'Recorded event' }).getByText('Nothing new was recorded').waitFor();
  });

  it('leaves the focus on its button, which is then that of the opposite action: Pause, Resume', async () => {
    await open('schedules');
    for (const [action, next] of [['Pause', 'Resume'] as const, ['Resume', 'Pause'] as const]) {
      await page.getByRole('button', { name: `${action} …` }).press('Enter');
      await page.getByRole('dialog').getByRole('button', { name: action }).press('Enter');
      await page.getByRole('button', { name: `${next} …` }).waitFor();
      expect(await page.locator(':focus').innerText()).toBe(`${next} …`);
    }
  });

  it('shows the event that it has recorded, behind a proxy that replaces the ids of requests', async () => {
    await page.route('**/api/v1/**', (request) =>
      request.continue({
        headers: { ...request.request().headers(), 'x-request-id': `of-the-proxy-${Math.random()}` },
      }),
    );
    await open('schedules');
    await page.getByRole('button', { name: 'Pause …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('status', { name: 'Recorded event' }).getByText('SchedulePaused').waitFor();
  });

  it('asks for a message about an execution to be sent again, after a question, and shows the event', async () => {
    const id = await launchHello(plane.grpc, 'mailed');
    await plane.grpc.call(AdminService.method.createWorkflowEvent, workflowReport(id, { phase: Phase.FAILED }));
    await open('executions/mailed?view=messages');
    await page.getByRole('button', { name: 'Send again …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send the message to ada@example.com again' });
    await dialog.getByText('cannot be undone').waitFor();
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await page.getByRole('status', { name: 'Recorded event' }).getByText('NotificationResendRequested').waitFor();
  });

  it('is offered for a gate after more than a hundred others of its execution got their signals, and not for those', async () => {
    const id = await launchHello(plane.grpc, 'many-gates');
    const signals = SignalService.method;
    const type = { type: { case: 'simple', value: SimpleType.STRING } } as const;
    for (let count = 0; count < MANY_SIGNALS; count += 1) {
      const signalId = { signalId: `gate-${count}`, executionId: id };
      await plane.grpc.call(signals.getOrCreateSignal, { id: signalId, type });
      await plane.grpc.call(signals.setSignal, { id: signalId, value: literal('open') });
    }
    await plane.grpc.call(signals.getOrCreateSignal, { id: { signalId: 'last-gate', executionId: id }, type });
    await open('executions/many-gates');
    await page.getByRole('button', { name: 'Signal last-gate …' }).waitFor();
    expect(await page.getByRole('button', { name: 'Signal gate-' }).count()).toBe(0);
  });

  it('gives a signal to a gate that has waited while more than a hundred others got theirs', async () => {
    const executionId = await launchHello(plane.grpc, 'first-gate');
    const signals = SignalService.method;
    const type = { type: { case: 'simple', value: SimpleType.STRING } } as const;
    await plane.grpc.call(signals.getOrCreateSignal, { id: { signalId: 'first-gate', executionId }, type });
    for (let count = 0; count < MANY_SIGNALS; count += 1) {
      const id = { signalId: `later-${count}`, executionId };
      await plane.grpc.call(signals.getOrCreateSignal, { id, type });
      await plane.grpc.call(signals.setSignal, { id, value: literal('open') });
    }
    await open('executions/first-gate');
    await page.getByRole('button', { name: 'Signal first-gate …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').press('Enter'); // sends nothing: a value is needed
    await dialog.getByRole('textbox').fill('open');
    await dialog.getByRole('textbox').press('Enter');
    await page.getByRole('status', { name: 'Recorded event' }).getByText('SignalSet').waitFor();
  });

  it('is not sent with a value that was typed before its dialog was closed', async () => {
    const executionId = await launchHello(plane.grpc, 'closed-dialog');
    const type = { type: { case: 'simple', value: SimpleType.INTEGER } } as const;
    await plane.grpc.call(SignalService.method.getOrCreateSignal, { id: { signalId: 'approve', executionId }, type });
    await open('executions/closed-dialog');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Signal approve …' }).click();
    await dialog.getByRole('textbox').fill('3');
    expect(await dialog.getByRole('button', { name: 'Signal approve' }).isEnabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Signal approve …' }).click();
    expect(await dialog.getByRole('textbox').inputValue()).toBe('');
    expect(await dialog.getByRole('button', { name: 'Signal approve' }).isEnabled()).toBe(false);
  });

  it('leaves the focus at the heading of the page when the button that had it is gone', async () => {
    const id = await launchHello(plane.grpc, 'gated');
    const signals = SignalService.method;
    const signalId = { signalId: 'approve', executionId: id };
    const type = { type: { case: 'simple', value: SimpleType.INTEGER } } as const;
    await plane.grpc.call(signals.getOrCreateSignal, { id: signalId, type });
    await open('executions/gated');
    await page.getByRole('button', { name: 'Signal approve …' }).press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog
      .getByLabel(/^Value/u)
      .first()
      .fill('3');
    await dialog.getByRole('button', { name: 'Signal approve' }).press('Enter');
    await page.getByRole('button', { name: 'Signal approve …' }).waitFor({ state: 'detached' });
    expect(await page.locator('h1:focus').innerText()).toBe('gated');
    await page.getByRole('button', { name: 'Dismiss' }).press('Enter');
    await page.getByText('Recorded:').waitFor({ state: 'detached' });
    expect(await page.locator('h1:focus').innerText()).toBe('gated');
  });
});
