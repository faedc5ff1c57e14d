import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { create, fromBinary } from '@bufbuild/protobuf';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LabelsSchema } from '../../proto/gen/platformidl/admin/common_pb.js';
import { ExecutionCreateRequestSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { NodeExecutionListSchema } from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import { LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { ScheduleService } from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { DataProxyService } from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { chromiumPath, startChromium } from '../support/browser/chromium.js';
import { barriersInLooks, PICTURES, watchedPage } from '../support/browser/console-page.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../support/requests/fixtures.js';
import { helloRequest, launchHello, literal } from '../support/requests/hello.js';
import { nodeReport, workflowReport } from '../support/requests/reports.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { until } from '../support/until.js';

const uploads = DataProxyService.method;
const SCOPE = '/projects/flytesnacks/domains/development';
const ID = { project: 'flytesnacks', domain: 'development' };
const HOSTILE = `<img src=x onerror="window.ran=1"><script>window.ran=1</script>javascript:window.ran=1`;

/** The number of nodes of the execution `followed`. A test checks how many of them each read of the page returns. */
const FOLLOWED_NODES = 20;

/** The number of executions that the list of executions reads at first. */
const FIRST_ROWS = 100;

/** The limit for the files of the console that its first page loads, each compressed with gzip. */
const MAX_FIRST_LOAD_KB = 300;

/** Hides the tab of a page or shows it again, as another tab in front of it would. */
const turnTab = (page: Page, state: 'hidden' | 'visible'): Promise<unknown> =>
  page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
    document.dispatchEvent(new Event('visibilitychange'));`);

describe.skipIf(chromiumPath === undefined)('the web console', () => {
  let plane: ControlPlane;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let http: string;
  const errors: string[] = [];

  const open = async (path: string): Promise<void> => {
    await page.goto(`${http}/console${path}`);
  };

  /** The first and the last element in the top line of the page. */
  const topLine = () => [
    page.getByRole('link', { name: 'flightlog, home' }),
    page.getByRole('button', { name: 'Keys' }),
  ];

  beforeAll(async () => {
    plane = await startControlPlane();
    ({ http } = plane.server().ready);
    await register(plane.grpc, withNeeds('01-hello', '14-pipeline'));
    await launchHello(plane.grpc, 'broken');
    await plane.run({ failureProbability: 1 });
    await launchHello(plane.grpc, 'good');
    await plane.run();
    await launchHello(plane.grpc, 'ended');
    await plane.grpc.call(AdminService.method.terminateExecution, { id: { ...ID, name: 'ended' }, cause: HOSTILE });
    await plane.run();
    browser = await startChromium();
    context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    page = await watchedPage(context, errors);
  });
  afterAll(async () => {
    await browser.close();
    await plane.close();
  });

  it('is where the address of the server leads, and loads less than 300 kB, compressed, at first', async () => {
    const sizes: Promise<number>[] = [];
    page.on('response', (response) => {
      if (response.url().includes('/console'))
        sizes.push(
          response.body().then(
            (body) => gzipSync(body).length,
            () => 0,
          ),
        );
    });
    await page.goto(http);
    await page.getByRole('link', { name: 'development' }).waitFor();
    await page.getByRole('region', { name: 'State of the system' }).getByText('Dead letters').waitFor();
    page.removeAllListeners('response');
    expect(page.url()).toBe(`${http}/console`);
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(total / 1_000).toBeLessThan(MAX_FIRST_LOAD_KB);
    expect(total).toBeGreaterThan(0);
  });

  it('reacts to a key that is pressed 300 ms after the page was opened, and to the keys g o', async () => {
    await open('');
    await page.getByRole('heading', { level: 1 }).waitFor();
    // The time of the key is in milliseconds since the page was opened.
    await page.evaluate(`document.body.dispatchEvent(
      Object.defineProperty(new KeyboardEvent('keydown', { key: '?', bubbles: true }), 'timeStamp', { value: 300 }),
    )`);
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await page.waitForURL(/\/console\/operate$/u);
  });

  it('counts on its first page the executions that have failed and succeeded in the last hours, and leads to the failed ones', async () => {
    await open('');
    await page.getByRole('link', { name: '1 failed in 24 h' }).waitFor();
    await page.getByRole('button', { name: '1 h', exact: true }).click();
    await page.getByRole('link', { name: '1 succeeded in 1 h' }).waitFor();
    await page.getByRole('link', { name: '0 running' }).waitFor();
    expect(new URL(page.url()).searchParams.get('hours')).toBe('1');
    await page.getByRole('link', { name: '1 failed in 1 h' }).click();
    await page.getByRole('row', { name: /broken/u }).waitFor();
    expect(await page.getByRole('row', { name: /good/u }).count()).toBe(0);
  });

  it('lists executions by phase, which the address keeps, and by error code', async () => {
    await open(`${SCOPE}/executions`);
    await page.getByRole('row', { name: /broken/u }).waitFor();
    await page.getByRole('button', { name: 'Failed' }).click();
    await page.getByRole('row', { name: /good/u }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('filters')).toBe('value_in(phase,FAILED)');
    await page.reload();
    await page.getByRole('row', { name: /broken/u }).waitFor();
    await page.getByLabel('Error code contains').fill('no such code');
    await page.getByLabel('Error code contains').press('Enter');
    await page.getByRole('row', { name: /broken/u }).waitFor({ state: 'detached' });
    await page.getByLabel('Error code contains').fill('SimulatedF');
    await page.getByLabel('Error code contains').press('Enter');
    await page.getByRole('row', { name: /broken/u }).waitFor();
    expect(await page.getByRole('row', { name: /good/u }).count()).toBe(0);
  });

  it('finds executions by the text of their error and by label, and keeps both in the address', async () => {
    const values = { team: 'growth', tier: 'low' };
    const labelled = helloRequest('labelled', ({ spec }) => (spec!.labels = create(LabelsSchema, { values })));
    await plane.grpc.call(AdminService.method.createExecution, labelled);
    await open(`${SCOPE}/executions`);
    await page.getByRole('row', { name: /broken/u }).waitFor();
    await page.getByLabel('Labels', { exact: true }).fill('team=growth tier');
    await page.getByLabel('Labels', { exact: true }).press('Enter');
    await page.getByRole('row', { name: /broken/u }).waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /labelled/u }).waitFor();
    await page.reload();
    await page.getByRole('row', { name: /labelled/u }).waitFor();
    expect(await page.getByLabel('Labels', { exact: true }).inputValue()).toBe('team=growth tier');
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('Error text contains').fill('failed by chance');
    await page.getByLabel('Error text contains').press('Enter');
    await page.getByRole('row', { name: /good/u }).waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /broken/u }).waitFor();
    expect(new URL(page.url()).searchParams.get('filters')).toBe('contains(error_message,failed by chance)');
  });

  it('lists the executions of a period that is chosen by dragging over the chart', async () => {
    await open(`${SCOPE}/executions`);
    await page.getByRole('figure', { name: /created over time/u }).waitFor();
    const { x, y, width } = (await page.locator('.creations-bars').boundingBox())!;
    await page.mouse.move(x + width / 2, y + 10);
    await page.mouse.down();
    await page.mouse.move(x + width - 1, y + 10, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/gte.*created_at.*lt.*created_at/u);
    await page.getByText(/^[1-9]\d* listed$/u).waitFor();
  });

  it('lists the executions of a period that is chosen in the chart by keys', async () => {
    await open(`${SCOPE}/executions`);
    const time = page.getByRole('slider', { name: 'Time of creation' });
    const chosen = () => time.getAttribute('aria-valuetext');
    await time.focus();
    await time.press('Home');
    expect(await chosen()).toMatch(/^[1-9]\d* created from /u);
    const oldest = await chosen();
    await time.press('Escape');
    expect(await chosen()).toBe('no time is chosen');
    await time.press('ArrowRight');
    expect(await chosen()).toBe(oldest);
    for (let step = 0; step < 3; step += 1) await time.press('Shift+ArrowRight');
    expect(await time.locator('.brushed').count()).toBe(4);
    expect(page.url()).not.toContain('created_at');
    const chosenBefore = await chosen();
    for (const key of ['Control+ArrowLeft', 'Meta+Home', 'Alt+ArrowUp', 'Alt+End']) await time.press(key);
    expect(await chosen()).toBe(chosenBefore);
    await time.press('Enter');
    await page.waitForURL(/gte.*created_at.*lt.*created_at/u);
    await page.getByText(/^[1-9]\d* listed$/u).waitFor();
  });

  it('launches with inputs of the typed interface, and shows inputs and outputs when the execution has succeeded', async () => {
    await open(`${SCOPE}/launch/launch_plans/hello.hello?version=v1`);
    await page.getByLabel('Name of the execution').fill('by-hand');
    await page.getByLabel(/^name/u).fill('console');
    await page.getByLabel(/^times/u).fill('many');
    await page.getByRole('button', { name: 'Launch' }).click();
    await page.getByText('times: write a whole number').waitFor();
    await page.getByLabel(/^times/u).fill('3');
    await page.getByRole('button', { name: 'Launch' }).click();
    await page.getByRole('heading', { name: 'by-hand' }).waitFor();
    await plane.run();
    await page.locator('.badge', { hasText: 'Succeeded' }).first().waitFor();
    await page.getByRole('link', { name: 'Inputs and outputs' }).click();
    await page.getByText('console', { exact: true }).waitFor();
    const outputs = page.locator('.card', { has: page.getByRole('heading', { name: 'Outputs', exact: true }) });
    await outputs.locator('dd').first().waitFor();
  });

  it('keeps the line breaks of a text that is changed in the form of a relaunch', async () => {
    const before = helloRequest('two-lines', ({ inputs }) => {
      inputs!.literals['name'] = create(LiteralSchema, literal('select 1\nfrom a'));
    });
    await plane.grpc.call(AdminService.method.createExecution, before);
    await open(`${SCOPE}/launch/launch_plans/hello.hello?version=v1&from=two-lines`);
    await page.getByLabel('Name of the execution').fill('three-lines');
    await page.getByLabel(/^name/u).press('ControlOrMeta+End');
    await page.keyboard.type('\nwhere b');
    await page.getByRole('button', { name: 'Launch' }).click();
    await page.getByRole('heading', { name: 'three-lines' }).waitFor();
    const id = { ...ID, name: 'three-lines' };
    const { fullInputs } = await plane.grpc.call(AdminService.method.getExecutionData, { id });
    expect(fullInputs?.literals['name']).toEqual(create(LiteralSchema, literal('select 1\nfrom a\nwhere b')));
    await plane.run();
  });

  it('opens the form of the newest version where the address has none', async () => {
    for (const [kind, name, version] of [
      ['launch_plans', 'hello.hello', 'v1'],
      ['workflows', 'pipeline.churn', 'v2'],
    ] as const) {
      await open(`${SCOPE}/launch/${kind}/${name}`);
      await page.getByRole('button', { name: 'Launch' }).waitFor();
      await page.getByText(`version ${version}`).waitFor();
    }
    await open(`${SCOPE}/launch/tasks/unknown`);
    await page.getByRole('alert').getByText('there is no task unknown').waitFor();
  });

  it('has a field for each element of a list, which can be written as JSON too, and a choice of the type of a union', async () => {
    await register(plane.grpc, withNeeds('02-diamond'));
    await plane.grpc.send('CreateExecution', fixtureBytes('02-diamond/execute-01.create_request.pb'));
    const { executions } = await plane.grpc.call(AdminService.method.listExecutions, {
      ...{ id: ID, limit: 1, filters: 'eq(workflow.name,typed_diamond.diamond)' },
    });
    const name = executions[0]?.id?.name ?? '';
    await open(`${SCOPE}/executions/${name}`);
    await page.getByRole('link', { name: 'Relaunch …' }).click();
    expect(await page.getByLabel('Type of note').inputValue()).toBe('1');
    const weights = page.getByRole('group', { name: 'weights', exact: true });
    await weights.waitFor();
    expect(await barriersInLooks(page, 'launch-parts')).toEqual([]);
    const before = await weights.getByRole('textbox').count();
    await weights.getByRole('button', { name: 'Add to weights' }).click();
    await page.getByRole('button', { name: 'Launch' }).click();
    await page.getByText(`weights: element ${before + 1}: a value is needed`).waitFor();
    await weights.getByRole('textbox').last().fill('0.125');
    await page.getByRole('button', { name: 'Write weights as JSON' }).click();
    const json = await page.getByLabel('weights as JSON').inputValue();
    expect((JSON.parse(json) as readonly number[]).at(-1)).toBe(0.125);
    await page.getByLabel('weights as JSON').fill(`${json} no JSON`);
    await page.getByText('weights: write JSON').waitFor();
    await page.getByRole('button', { name: 'Form for weights' }).click();
    await page.getByText('weights: write JSON').waitFor({ state: 'detached' });
    expect(await weights.getByRole('textbox').last().inputValue()).toBe('0.125');
    await page.getByRole('button', { name: 'Write weights as JSON' }).click();
    await page.getByLabel('weights as JSON').fill('');
    await page.getByRole('button', { name: 'Form for weights' }).click();
    expect(await weights.getByRole('textbox').count()).toBe(0);
    await page.getByRole('button', { name: 'Write weights as JSON' }).click();
    await page.getByLabel('weights as JSON').fill(json);
    await page.getByRole('button', { name: 'Launch' }).click();
    await page.waitForURL(/\/executions\//u);
    await page.locator('.page-head .badge', { hasText: 'Queued' }).waitFor();
  });

  it('shows the error of a failed execution, what differs from a good one, and recovers it', async () => {
    await open(`${SCOPE}/executions/broken`);
    await page
      .getByRole('heading', { name: /SimulatedFailure/u })
      .first()
      .waitFor();
    const node = page.getByRole('complementary', { name: /Node n0/u });
    await node.getByText('Attempt 1').waitFor();
    await node.getByText('The execution has failed with the error of this node').waitFor();
    expect(await page.getByRole('heading', { name: /SimulatedFailure/u }).count()).toBe(1);
    await page.getByRole('link', { name: /last good one/u }).click();
    await page.getByRole('cell', { name: 'closure/phase' }).first().waitFor();
    await page.getByRole('button', { name: 'Recover …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Recover', exact: true }).click();
    await page.getByText('recovered', { exact: true }).waitFor();
    await plane.run();
    await page.locator('.badge', { hasText: 'Succeeded' }).first().waitFor();
  });

  it('draws a branch that was skipped as such, and the workflow inside a node', async () => {
    const request = fromBinary(ExecutionCreateRequestSchema, fixtureBytes('14-pipeline/execute-01.create_request.pb'));
    await plane.grpc.call(AdminService.method.createExecution, { ...request, name: 'drawn' });
    await plane.run();
    await open(`${SCOPE}/executions/drawn?view=graph`);
    await page.locator('.box.tone-skipped').waitFor();
    await page.getByLabel('search workflow').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Inside n2' }).waitFor();
    await page.locator('.box.tone-good', { hasText: 'task · pipeline.choose' }).click();
    await page.getByRole('complementary', { name: /Node n2-0-/u }).waitFor();
    await page.getByRole('heading', { name: 'Inside n2' }).waitFor();
  });

  it('names nodes as their authors did, with their ids, also in a nested workflow', async () => {
    await open(`${SCOPE}/executions/drawn`);
    await page.getByRole('button', { name: 'read_activity n0 Succeeded' }).waitFor();
    await page.getByRole('button', { name: 'Nodes below n2' }).click();
    await page.getByRole('button', { name: 'propose n0 Succeeded' }).waitFor();
    expect(await barriersInLooks(page, 'node names')).toEqual([]);
  });

  it('names the nodes that a dynamic node has planned, as their authors did', async () => {
    await register(plane.grpc, withNeeds('06-dynamic'));
    await plane.grpc.send('CreateExecution', fixtureBytes('06-dynamic/execute-01.create_request.pb'));
    await plane.run();
    await open(`${SCOPE}/executions/dynamic-defaults`);
    await page.getByRole('button', { name: 'Nodes below n0' }).click();
    await page.getByRole('button', { name: 'measure dn0 Succeeded' }).waitFor();
  });

  it('reads again only the nodes that events have changed, while an execution runs', async () => {
    const id = await launchHello(plane.grpc, 'followed');
    const report = (node: string, phase: NodePhase) =>
      plane.grpc.call(AdminService.method.createNodeEvent, nodeReport(id, node, { phase }));
    for (let node = 0; node < FOLLOWED_NODES; node += 1) await report(`n${node}`, NodePhase.QUEUED);
    let reads: { readonly filters: string | null; readonly nodes: Promise<number> }[] = [];
    page.on('response', (response) => {
      const { pathname, searchParams } = new URL(response.url());
      if (!pathname.endsWith('/node_executions/flytesnacks/development/followed')) return;
      const nodes = response.body().then((body) => fromBinary(NodeExecutionListSchema, body).nodeExecutions.length);
      reads.push({ filters: searchParams.get('filters'), nodes });
    });
    await open(`${SCOPE}/executions/followed`);
    await page.getByRole('status').getByText('Live').waitFor();
    await report('n0', NodePhase.RUNNING);
    await page.getByRole('button', { name: 'n0 Running' }).waitFor();
    for (const { nodes } of reads) expect(await nodes).toBe(FOLLOWED_NODES);

    reads = [];
    await report('n1', NodePhase.RUNNING);
    await page.getByRole('button', { name: 'n1 Running' }).waitFor();
    await report('another', NodePhase.QUEUED);
    await page.getByRole('button', { name: 'another Queued' }).waitFor();
    const filters = reads.map((each) => each.filters);
    expect(new Set(filters)).toEqual(new Set(['value_in(node_id,n1)', 'value_in(node_id,another)']));
    for (const { nodes } of reads) expect(await nodes).toBeLessThanOrEqual(1);

    reads = [];
    await plane.grpc.call(AdminService.method.terminateExecution, { id, cause: 'the end' });
    await page.locator('.page-head .badge', { hasText: 'Aborting' }).waitFor();
    await until(
      () => Promise.resolve(reads.map((each) => each.filters)),
      (all) => all.includes(null),
    );
    page.removeAllListeners('response');
  });

  it('shows an execution as of its first and its second transition, and as it is now, by keys', async () => {
    await open(`${SCOPE}/executions/good?view=life`);
    const thumb = page.getByRole('slider', { name: 'Moment of the execution' });
    await thumb.focus();
    await page.keyboard.press('Home');
    await page.getByText('As of position').waitFor();
    await page.locator('.page-head .badge', { hasText: 'Queued' }).waitFor();
    await page.keyboard.press('ArrowRight');
    await page.locator('.slider-card output', { hasText: /^2 of / }).waitFor();
    await page.keyboard.press('End');
    await page.locator('.page-head .badge', { hasText: 'Succeeded' }).waitFor();
    expect(new URL(page.url()).searchParams.has('asOf')).toBe(false);
  });

  it('stays at the last event of an execution when another transition of that event is chosen', async () => {
    const id = await launchHello(plane.grpc, 'broken-off');
    const { createNodeEvent, createWorkflowEvent } = AdminService.method;
    await plane.grpc.call(createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.RUNNING }));
    await plane.grpc.call(createWorkflowEvent, workflowReport(id, { phase: Phase.FAILED }));
    await open(`${SCOPE}/executions/broken-off?view=life`);
    await page.getByRole('button', { name: 'execution Failed' }).click();
    expect(await page.locator('.slider-card output').innerText()).toMatch(/^(\d+) of \1 /u);
    await page.getByRole('link', { name: 'Nodes', exact: true }).click();
    await page.getByRole('button', { name: 'n0 Aborted' }).waitFor();
    expect(new URL(page.url()).searchParams.has('asOf')).toBe(false);
  });

  it('compares two moments of one execution when the field for the other execution is emptied', async () => {
    await open(`${SCOPE}/executions/good?view=life`);
    const thumb = page.getByRole('slider', { name: 'Moment of the execution' });
    await thumb.focus();
    await page.keyboard.press('Home');
    await page.getByText('As of position').waitFor();
    const first = new URL(page.url()).searchParams.get('asOf') ?? '';
    await open(`${SCOPE}/executions/good?view=compare&with=broken&asOf=${first}`);
    await page.getByLabel('Compare with the execution').fill('');
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.getByRole('columnheader', { name: 'good', exact: true }).first().waitFor();
    await page
      .getByRole('columnheader', { name: `good as of ${first}` })
      .first()
      .waitFor();
    expect(await page.getByLabel('Compare with the execution').inputValue()).toBe('');
  });

  it('shows for a transition when it was recorded, and its request', async () => {
    await open(`${SCOPE}/executions/ended?view=life`);
    const facts = page.locator('.slider-card dl');
    await facts.getByText('Recorded', { exact: true }).waitFor();
    await facts.getByText('Request', { exact: true }).waitFor();
  });

  it('shows the description of a workflow, and what differs between two versions', async () => {
    await open(`${SCOPE}/workflows/pipeline.churn`);
    await page.getByText('Trains the churn model.').waitFor();
    await page.getByRole('link', { name: 'Compare with v2' }).click();
    await page.getByRole('cell', { name: 'nodes/explain', exact: true }).waitFor();
    expect(await barriersInLooks(page, 'version differences')).toEqual([]);
  });

  it('shows the last runs of a workflow, archives its name, and takes that back', async () => {
    await open(`${SCOPE}/workflows/hello.hello`);
    await page.getByRole('table', { name: 'Last runs' }).getByRole('link').first().waitFor();
    for (const [action, next] of [['Archive', 'Unarchive'] as const, ['Unarchive', 'Archive'] as const]) {
      await page.getByRole('button', { name: `${action} …` }).click();
      await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click();
      await page.getByRole('button', { name: `${next} …` }).waitFor();
    }
  });

  /** Clicks an action and confirms it, when the dialog says what will happen, and waits for the recorded event. */
  const act = async (action: string, { says, event }: { readonly says: RegExp; readonly event: string }) => {
    await page.getByRole('button', { name: `${action} …` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(says).waitFor();
    await dialog.getByRole('button', { name: action, exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('status', { name: 'Recorded event' }).getByText(event).waitFor();
  };

  it('activates a launch plan after a question, shows the event, and the time of the next tick', async () => {
    await open(`${SCOPE}/launch_plans/pipeline.churn_daily`);
    await page.getByText('15 5 * * *').waitFor();
    await act('Activate', { says: /becomes the active version/u, event: 'LaunchPlanActivated' });
    expect(await barriersInLooks(page, 'recorded event')).toEqual([]);
    await page.getByRole('status', { name: 'Recorded event' }).getByRole('link').click();
    await page.getByRole('list', { name: 'Events' }).getByText('LaunchPlanActivated', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.getByText('Recorded:').waitFor({ state: 'detached' });
    await page.goBack();
    await page.getByText('Next tick').waitFor();
    await page.getByRole('link', { name: 'Schedules' }).click();
    await page
      .getByText(/^(?:in \d+ (?:hours?|minutes?|seconds?)|tomorrow)$/u)
      .first()
      .waitFor();
  });

  it('skips a tick, pauses, resumes and fires a schedule, each after a question, and shows the events', async () => {
    await open(`${SCOPE}/schedules`);
    await page.getByText('15 5 * * *').waitFor();
    await act('Skip next', { says: /No execution starts at .*cannot be undone/u, event: 'ScheduleTickSkipRequested' });
    await page.getByText('Will be skipped').waitFor();
    await act('Pause', { says: /ticks are skipped until it is resumed/u, event: 'SchedulePaused' });
    await act('Resume', { says: /not made up for/u, event: 'ScheduleResumed' });
    await act('Fire now', { says: /cannot be undone/u, event: 'ScheduleTickFired' });
  });

  it('says that nothing was recorded when another client has paused the schedule before', async () => {
    const following = /\/tail\?from=now/u;
    await page.route(following, (route) => route.abort());
    await open(`${SCOPE}/schedules`);
    await page.getByRole('button', { name: 'Pause …' }).waitFor();
    await plane.grpc.call(ScheduleService.method.pauseSchedule, { ...ID, name: 'pipeline.churn_daily' });
    await act('Pause', { says: /ticks are skipped/u, event: 'Nothing new was recorded' });
    await page.unroute(following);
  });

  it('has a heading also when the address names nothing that exists, and follows older links', async () => {
    for (const [path, heading] of [
      [`${SCOPE}/executions/nowhere`, 'nowhere'],
      [`${SCOPE}/workflows/nowhere`, 'nowhere'],
      ['/nowhere', 'There is no such page'],
      [`${SCOPE}/task/hello.greet/version/v1`, 'hello.greet'],
    ] as const) {
      await open(path);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    }
  });

  it('says which filter of the log the server refuses', async () => {
    await open('/events?from=yesterday');
    await page.getByRole('alert').getByText('invalid value for from').waitFor();
    await page.getByRole('status').getByText('Not live: the server cannot follow this').waitFor();
    expect(await barriersInLooks(page, 'refused filter')).toEqual([]);
    await page.setViewportSize({ width: 360, height: 800 });
    const [brand, keys] = await Promise.all(topLine().map((each) => each.boundingBox()));
    expect(keys!.y).toBeLessThan(brand!.y + brand!.height); // both are in one line
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByLabel(/^From/u).fill('start');
    await page.getByRole('button', { name: 'Follow' }).click();
    await page.getByRole('list', { name: 'Events' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('ends the stream of events while its tab is hidden, and then shows the events of that time', async () => {
    await open('/events?from=start');
    const list = page.getByRole('list', { name: 'Events' });
    await list.waitFor();
    const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('/api/v1/tail?'));
    await turnTab(page, 'hidden');
    await ended;
    await launchHello(plane.grpc, 'while-hidden');
    await plane.run();
    await turnTab(page, 'visible');
    await list.locator('summary', { hasText: 'while-hidden' }).first().waitFor();
    const positions = await list.locator('summary code').allTextContents();
    expect(new Set(positions).size).toBe(positions.length);
  });

  it('runs no script in the texts of users', async () => {
    await open(`${SCOPE}/executions/ended`);
    await page.getByText(HOSTILE).first().waitFor();
    expect(await page.evaluate('window.ran')).toBeUndefined();
    const answer = await fetch(`${http}/console`);
    expect(answer.headers.get('content-security-policy')).toContain("script-src 'self';");
  });

  it('shows the deck of a node in a frame that reaches neither the page nor the server', async () => {
    const deck = `<p id="deck">a deck</p><script>
      const deck = document.getElementById('deck');
      try { parent.ran = 1; } catch { deck.append(', without the page'); }
      fetch('/api/v1/version').catch(() => deck.append(', without the server'));
    </script>`;
    const contentMd5 = createHash('md5').update(deck).digest();
    const upload = await plane.grpc.call(uploads.createUploadLocation, { ...ID, contentMd5, filename: 'deck.html' });
    await fetch(upload.signedUrl, { method: 'PUT', body: deck });
    const id = await launchHello(plane.grpc, 'decked');
    const report = nodeReport(id, 'n0', { phase: NodePhase.SUCCEEDED, deckUri: upload.nativeUrl });
    await plane.grpc.call(AdminService.method.createNodeEvent, report);
    await open(`${SCOPE}/executions/decked?node=n0`);
    await page.locator('.card', { hasText: 'Deck' }).getByRole('button', { name: 'Show' }).click();
    const shown = page.frameLocator('iframe.deck').locator('#deck');
    await shown.getByText('a deck, without the page, without the server').waitFor();
    expect(await page.evaluate('window.ran')).toBeUndefined();
  });

  it.each([
    ['home', '', 'What is running'],
    ['executions', `${SCOPE}/executions`, 'Executions'],
    ['execution', `${SCOPE}/executions/broken`, 'broken'],
    ['graph', `${SCOPE}/executions/good?view=graph`, 'good'],
    ['life', `${SCOPE}/executions/good?view=life`, 'good'],
    ['data', `${SCOPE}/executions/good?view=data`, 'good'],
    ['compare', `${SCOPE}/executions/broken?view=compare&with=good`, 'broken'],
    ['workflows', `${SCOPE}/workflows`, 'Workflows'],
    ['workflow', `${SCOPE}/workflows/hello.hello`, 'hello.hello'],
    ['launch plan', `${SCOPE}/launch_plans/hello.hello`, 'hello.hello'],
    ['launch', `${SCOPE}/launch/launch_plans/hello.hello?version=v1`, 'Launch hello.hello'],
    ['schedules', `${SCOPE}/schedules`, 'Schedules'],
    ['attributes', `${SCOPE}/attributes`, 'Attributes'],
    ['events', '/events?from=start&name=good&project=flytesnacks&domain=development', 'Events'],
    ['audit', '/audit', 'Audit'],
  ])('has no barrier that axe finds, and fits screens of 360, 1,280 and 2,560 px: %s', async (name, path, heading) => {
    await open(path);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.locator('.loading').first().waitFor({ state: 'detached' });
    expect(await barriersInLooks(page, name)).toEqual([]);
  });

  it.runIf(PICTURES !== undefined)('takes the screenshot for the documents, console.png', async () => {
    await plane.grpc.send('CreateExecution', fixtureBytes('14-pipeline/execute-01.create_request.pb'));
    await plane.run({ failureProbability: 0.15, seed: 'sandbox' });
    await page.emulateMedia({ colorScheme: 'light' });
    await open(`${SCOPE}/executions/churn-v1`);
    await page.getByRole('complementary').getByText('Attempt 1').waitFor();
    await page.screenshot({ path: join(PICTURES ?? '', 'console.png') });
  });

  it('fits a screen that is 320 px wide', async () => {
    const narrow = await browser.newContext({ viewport: { width: 320, height: 640 } });
    page = await watchedPage(narrow, errors);
    for (const path of [
      '',
      `${SCOPE}/launch/launch_plans/hello.hello?version=${'v'.repeat(100)}`,
      `${SCOPE}/executions`,
      `${SCOPE}/executions/broken?view=life`,
    ]) {
      await open(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    }
    for (const name of ['History', 'Executions']) {
      const { x, width } = (await page.getByRole('link', { name, exact: true }).boundingBox())!;
      expect(x).toBeGreaterThan(0);
      expect(x + width).toBeLessThan(320);
    }
    await open(`${SCOPE}/executions/dynamic-defaults`);
    await page.locator('.node:has(.label) .node-label').first().waitFor();
    const cutOff = '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)';
    expect(await page.evaluate(`${cutOff}(document.querySelector('.node:has(.label) .node-label'))`)).toBe(0);
    const [brand, keys] = await Promise.all(topLine().map((each) => each.boundingBox()));
    expect(keys!.y).toBeLessThan(brand!.y + brand!.height); // both are in one line
    await narrow.close();
    page = await watchedPage(context, errors);
  });

  it('says that older executions could not be read, and reads them again', async () => {
    for (let count = 0; count <= FIRST_ROWS; count += 1) {
      const inStaging = helloRequest(`row-${count}`, (request) => Object.assign(request, { domain: 'staging' }));
      await plane.grpc.call(AdminService.method.createExecution, inStaging);
    }
    const nextPage = /\/api\/v1\/executions\/.*[?&]token=/u;
    await page.route(nextPage, (route) => route.fulfill({ status: 500, body: '' }));
    await open('/projects/flytesnacks/domains/staging/executions');
    await page.getByRole('alert').getByText('the server answered 500').waitFor();
    await page.getByText(`${FIRST_ROWS} listed`).waitFor();
    await page.unroute(nextPage);
    await page.getByRole('button', { name: 'Read older executions' }).click();
    await page.getByText(`${FIRST_ROWS} listed`).waitFor({ state: 'detached' });
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('reads executions with the next event when they could not be read at first', async () => {
    const list = /\/api\/v1\/executions\//u;
    await page.route(list, (route) => route.fulfill({ status: 500, body: '' }));
    await open('/projects/flytesnacks/domains/production/executions');
    await page.getByRole('alert').getByText('the server answered 500').waitFor();
    await page.getByRole('status').getByText('Live').waitFor();
    await page.unroute(list);
    const launched = helloRequest('afterwards', (request) => Object.assign(request, { domain: 'production' }));
    await plane.grpc.call(AdminService.method.createExecution, launched);
    await page.getByRole('row', { name: /afterwards/u }).waitFor();
  });

  it('is live again by itself after a proxy has answered 503 for a time', async () => {
    const tail = '**/api/v1/tail?*';
    await page.route(tail, (route) => route.fulfill({ status: 503, body: 'no server is ready' }));
    await open(`${SCOPE}/executions`);
    await page.getByText('The server does not answer').waitFor();
    await page.unroute(tail);
    await page.getByRole('status').getByText('Live').waitFor();
  });

  it('says on a page that the server does not answer, and is live on the next page when the server answers again', async () => {
    const tail = '**/api/v1/tail?*';
    for (const path of [
      `${SCOPE}/tasks`,
      '/events?from=now',
      '/audit',
      `${SCOPE}/launch/launch_plans/hello.hello?version=v1`,
    ]) {
      await page.route(tail, (route) => route.fulfill({ status: 503, body: 'no server is ready' }));
      await open(path);
      await page.getByText('The server does not answer').waitFor();
      await page.unroute(tail);
      await page.getByRole('link', { name: 'Audit' }).click();
      await page.getByRole('status').getByText('Live').waitFor();
    }
  });

  it('is live again by itself when the server was killed and started again', async () => {
    await open(`${SCOPE}/executions`);
    await page.getByRole('status').getByText('Live').waitFor();
    await plane.kill();
    await page.getByText('The server does not answer').waitFor();
    const restarted: ServerProcess = await startServerProcess({
      data: plane.directory,
      args: ['--http-port', new URL(http).port],
    });
    await page.getByRole('status').getByText('Live').waitFor();
    await page.getByRole('row', { name: /good/u }).waitFor();
    await restarted.stop();
    expect(errors).toEqual([]);
  });
});
