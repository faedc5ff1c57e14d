import { create, fromJson } from '@bufbuild/protobuf';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { type NodeExecution, NodeExecutionSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { ProjectSchema } from '../../../proto/gen/platformidl/admin/project_pb.js';
import { LAUNCH_PLAN_COLUMNS, PROJECT_COLUMNS } from '../../../services/cli/client/entities/columns.js';
import { linesOf, treeText } from '../../../services/cli/client/executions/tree.js';
import { listBindings } from '../../../services/cli/client/access.js';
import { lineOf } from '../../../services/cli/client/notifications.js';
import { jsonOfMessage } from '../../../services/cli/client/output/documents.js';
import { headerText } from '../../../services/cli/client/output/header.js';
import { tableText } from '../../../services/cli/client/output/table.js';
import { cell, shortened } from '../../../services/cli/client/output/text.js';
import { lineOf as parkedLineOf } from '../../../services/cli/client/parked-stream.js';
import { linesOf as reactorLinesOf } from '../../../services/cli/client/reactor.js';
import { linesOf as scheduleLinesOf, listSchedules } from '../../../services/cli/client/schedule.js';
import { timed } from '../../support/costs/timed.js';

const COLUMNS = [
  { header: 'NAME', text: ({ name }: { name: string; why: string }) => name },
  { header: 'WHY', text: ({ why }: { name: string; why: string }) => why },
];

describe('a document', () => {
  it('has the nearest value for one that JSON cannot represent', () => {
    const beyondYear9999 = { seconds: 300_000_000_000n };
    const execution = create(ExecutionSchema, { closure: { createdAt: beyondYear9999 } });
    expect(jsonOfMessage(ExecutionSchema, execution)).toMatchObject({
      closure: { createdAt: '9999-12-31T23:59:59Z' },
    });
  });
});

describe('a table', () => {
  it('has a header, columns as wide as their texts, a dash for an empty text, and one line for each row', () => {
    const rows = [
      { name: 'a', why: '' },
      { name: 'long-name', why: 'two\nlines' },
    ];
    expect(tableText(COLUMNS, rows)).toBe('NAME       WHY\na          -\nlong-name  two lines');
  });

  it('is shortened to the width of the terminal in its last column', () => {
    const [, row] = tableText(COLUMNS, [{ name: 'a', why: 'x'.repeat(100) }], 40).split('\n');
    expect(row).toHaveLength(40);
    expect(row).toMatch(/x…$/u);
  });

  it('is not shortened in the middle of a character', () => {
    expect(shortened('😀😀😀', 4)).toBe('😀…');
    expect(shortened('😀😀😀', 5)).toBe('😀😀…');
  });

  it('is not wider than the terminal where characters take two columns', () => {
    const [, row] = tableText(COLUMNS, [{ name: '日本語', why: '東京'.repeat(20) }], 40).split('\n');
    expect(row).toBe(`日本語  ${'東京'.repeat(7)}東…`); // 6 columns, a gap of 2, and 31 of the 32 that are left
    expect(cell('日本', 6)).toBe('日本  ');
  });

  it('is shortened to the terminal also when it has very many rows', () => {
    const rows = Array.from({ length: 130_000 }, () => ({ name: 'a', why: 'b'.repeat(100) }));
    expect(tableText(COLUMNS, rows, 40)).toHaveLength('NAME  WHY'.length + 130_000 * '\n'.length + 130_000 * 40);
  });

  it('has no character that a terminal would obey', () => {
    const hostile = [{ name: '\u001b[2Jred\u0007', why: '\u009b5A\r' }];
    expect(tableText(COLUMNS, hostile)).toBe('NAME    WHY\n[2Jred  5A');
    expect(tableText(COLUMNS, [{ name: 'a\u202eb', why: 'c' }])).toBe('NAME  WHY\na b   c');
    expect(cell('\u001b[2J\u2066x', 8)).toBe(' [2J x  ');
  });
});

describe('a launch plan in a table', () => {
  it.each([
    [{ cronSchedule: { schedule: '@daily' } }, '@daily'],
    [{ cronExpression: '0 6 * * *' }, '0 6 * * *'],
    [{ rate: { value: 3, unit: 'HOUR' } }, 'every 3 hour'],
    [{ rate: { value: 3, unit: 77 } }, 'every 3 77'], // a unit of a newer server
  ])('has its schedule and its next fire time: %j', (schedule, text) => {
    const plan = fromJson(LaunchPlanSchema, {
      id: { name: 'report', version: 'v1' },
      spec: { entityMetadata: { schedule } },
      closure: { state: 'ACTIVE', nextFireAt: '2026-03-02T06:00:00Z' },
    });
    expect(tableText(LAUNCH_PLAN_COLUMNS, [plan]).split('\n')).toEqual([
      expect.stringMatching(/^NAME +VERSION +STATE +SCHEDULE +NEXT FIRE +CREATED$/u),
      expect.stringMatching(/^report +v1 +ACTIVE +/u),
    ]);
    expect(tableText(LAUNCH_PLAN_COLUMNS, [plan])).toContain(`  ${text}  `);
    expect(tableText(LAUNCH_PLAN_COLUMNS, [plan])).toContain('  2026-03-02T06:00:00Z  ');
  });
});

describe('a state that this release does not know', () => {
  it('is shown as its number', () => {
    const plan = fromJson(LaunchPlanSchema, { id: { name: 'a', version: 'v1' }, closure: { state: 77 } });
    expect(tableText(LAUNCH_PLAN_COLUMNS, [plan])).toMatch(/^a +v1 +77 /mu);
    const project = fromJson(ProjectSchema, { id: 'a', state: 77 });
    expect(tableText(PROJECT_COLUMNS, [project])).toMatch(/^a +- +77 /mu);
  });
});

/** A node execution; with an error when there is a message. */
const node = (nodeId: string, phase: string, message = ''): NodeExecution =>
  fromJson(NodeExecutionSchema, { id: { nodeId }, closure: { phase, ...(message !== '' && { error: { message } }) } });

describe('the tree of an execution', () => {
  const nodes = [
    node('start-node', 'SUCCEEDED'),
    node('n1', 'RUNNING'),
    node('n1-0-n0', 'FAILED', 'out of\nmemory'),
    node('n10', 'SUCCEEDED'),
    node('n1-0-n0-0-dn1', 'QUEUED'),
  ];

  it('has each node below the one that it is inside of, without the start node', () => {
    const depths = linesOf(nodes).map(({ node: { id }, depth }) => [id?.nodeId, depth]);
    expect(depths).toEqual([
      ['n1', 0],
      ['n1-0-n0', 1],
      ['n1-0-n0-0-dn1', 2],
      ['n10', 0],
    ]);
  });

  it('is made in a time that grows with the number of nodes, and not with its square', () => {
    const NODES = 20_000;
    const many = Array.from({ length: NODES }, (_, at) => node(`n${at}`, 'SUCCEEDED'));
    const [lines, spentMs] = timed(() => linesOf(many));
    expect(lines).toHaveLength(NODES);
    expect(spentMs).toBeLessThan(1_000); // a search among all nodes for each one takes seconds
  });

  it('has a node whose id is a hash below the one that it is inside of, with its id in the workflow', () => {
    const inside = (nodeId: string, specNodeId: string, isParentNode = false): NodeExecution =>
      fromJson(NodeExecutionSchema, {
        id: { nodeId },
        metadata: { specNodeId, isParentNode, retryGroup: '0' },
        closure: { phase: 'SUCCEEDED' },
      });
    const execution = create(ExecutionSchema, { id: { name: 'run' } });
    const hashed = [
      inside('chosen', 'chosen', true),
      inside('chosen-0-choose', 'choose', true),
      inside('fcc7cigi', 'choose-on'),
      inside('other', 'other', true),
    ];
    expect(treeText({ execution, nodes: hashed }).map((line) => line.replace(/ +✓.*/u, ''))).toEqual([
      expect.stringMatching(/^run /u),
      '  chosen',
      '    chosen-0-choose',
      '      fcc7cigi (choose-on)',
      '  other',
    ]);
  });

  it('has a line for the execution and for each node, with phase and error', () => {
    const lines = treeText({ execution: create(ExecutionSchema, { id: { name: 'run' } }), nodes });
    expect(lines[0]).toMatch(/^run +○ UNDEFINED$/u);
    expect(lines[2]).toMatch(/^ {4}n1-0-n0 +✗ FAILED +out of memory$/u);
  });
});

it('a header has each column above the cells of its lines', () => {
  const header = headerText([
    ['NAME', 8],
    ['STATE', 7],
    ['PROBLEM', 0],
  ]);
  expect(header).toBe('NAME      STATE    PROBLEM');
  const line = [cell('a', 8), cell('parked', 7), 'none'].join('  ');
  expect(header.indexOf('PROBLEM')).toBe(line.indexOf('none'));
});

it('the columns of notifications are aligned, whether their times have milliseconds or not', () => {
  const message = { id: 'm', phase: 'FAILED', channel: 'slack', recipient: 'a', attempts: 1, status: 'SENT' };
  const outcome = { answer: 'ok', reason: '' };
  const [whole, exact] = ['2026-03-02T09:58:00Z', '2026-03-02T09:58:00.123Z'].map((since) =>
    lineOf({ ...message, ...outcome, since }),
  );
  expect(whole).toContain('FAILED');
  expect(whole?.indexOf('FAILED')).toBe(exact?.indexOf('FAILED'));
});

/** Two times of different width. */
const TIMES = ['2026-03-02T09:58:00Z', '2026-03-02T09:58:00.123Z'];

it('the ticks of a schedule have aligned columns, and one line each', () => {
  const ticks = TIMES.map((at) => ({ at, version: 'v1', kind: 'FAILED', reason: 'no\nanswer' }));
  const lines = scheduleLinesOf({
    id: { name: 'plan', version: 'v1' },
    paused: false,
    parked: false,
    next: [],
    past: ticks,
    problem: '',
    skipping: TIMES,
  });
  expect(lines[1]).toContain('v1');
  expect(new Set(lines.slice(1).map((line) => line.indexOf('v1'))).size).toBe(1);
  expect(lines.filter((line) => line.includes('no answer'))).toHaveLength(TIMES.length);
});

it('the dead letters of a reactor have aligned columns, and one line each', () => {
  const deadLetters = TIMES.map((since) => ({
    letter: { position: '7', stream: 'task-a\nb', reason: 'bad', since, parked: false },
    retrying: false,
  }));
  const figures = { position: '9', waiting: 0, retrying: 0, lag: '0s', dead: 2 };
  const reactor = { name: 'notify', worker: '', muted: '', problem: '' };
  const lines = reactorLinesOf({ ...reactor, ...figures, deadLetters }).slice(1);
  expect(lines[0]).toContain('task-a b');
  expect(new Set(lines.map((line) => line.indexOf('task-a b'))).size).toBe(1);
  expect(lines.join('')).not.toContain('\n');
});

it('a reactor whose dead letters cannot be read has a line that says so, and no number of them', () => {
  const figures = { position: '9', waiting: 0, retrying: 0, lag: '0s', dead: 0, deadLetters: [] };
  const lines = reactorLinesOf({ name: 'notify', worker: '', muted: '', problem: 'cannot\nbe read', ...figures });
  expect(lines.map((line) => line.trim())).toEqual([
    expect.stringContaining('dead unknown'),
    expect.stringMatching(/parked\W.*cannot be read$/u),
  ]);
});

it('a reactor without a position has a dash in its place', () => {
  const figures = { position: '0', waiting: 0, retrying: 0, lag: '0s', dead: 0, deadLetters: [] };
  const [line] = reactorLinesOf({ name: 'fire-schedules', worker: '', muted: '', problem: '', ...figures });
  expect(line).toContain('position -, lag 0s');
});

it('a parked stream has one line, although its id has a line break', () => {
  const stream = { stream: 'task-a\nb', position: '7', reason: 'bad', inViews: true, inProcess: false };
  expect(parkedLineOf({ ...stream, retryRequestedBy: '' })).toContain('task-a b  bad');
});

describe('the header of a list on a terminal', () => {
  const terminal = process.stdout.isTTY;
  afterEach(() => {
    process.stdout.isTTY = terminal;
    vi.restoreAllMocks();
  });

  it('is not printed when no server answers', async () => {
    process.stdout.isTTY = true;
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const nowhere = { server: 'http://127.0.0.1:1' };
    await expect(listBindings(nowhere)).rejects.toThrow('no server answers');
    const place = { project: 'p', domain: 'd', json: false };
    await expect(listSchedules({ ...nowhere, ...place })).rejects.toThrow('no server answers');
    expect(write).not.toHaveBeenCalled();
  });
});
