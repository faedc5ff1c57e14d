import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExecutionMetadata_ExecutionMode } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import type { Columns, LinkedEntities } from '../../../projections/query/columns.js';
import { filtersOf } from '../../../projections/query/filters/filter.js';
import type { Collection } from '../../../projections/runtime/read-store.js';

const columns: Columns = {
  entity: 'execution',
  shortName: 'e',
  byName: {
    phase: { field: 'phase', kind: 'text', values: ['A', 'B', 'RUNNING', 'X'] },
    project: { field: 'project', kind: 'text' },
    state: { field: 'state', kind: 'number' },
    mode: { field: 'mode', kind: 'number', names: ExecutionMetadata_ExecutionMode },
    name: { field: 'name', kind: 'text' },
    started_at: { field: 'startedAt', kind: 'time' },
    duration: { field: 'durationMicros', kind: 'duration' },
    closure: { field: 'startedAt', kind: 'opaque' },
    hidden: { field: 'hidden', kind: 'text', filter: false },
    'launch_plan.name': { field: 'launchPlan', kind: 'text' },
    'admin_tag.name': { field: 'tags', kind: 'text', part: 'key' },
    'execution_tag.value': { field: 'tags', kind: 'text', part: 'value' },
  },
  labels: 'tags',
  links: { launch_plan: 'launchPlanKey', task: 'taskKey' },
};

const collection = (name: string): Collection => ({ name, version: 1, fields: {}, indexes: [] });
const plans = collection('plans');
const entities: LinkedEntities = new Map([
  [
    'launch_plan',
    {
      collection: plans,
      columns: {
        entity: 'launch_plan',
        shortName: 'l',
        byName: { name: { field: 'name', kind: 'text' }, state: { field: 'state', kind: 'number' } },
      },
    },
  ],
]);

const FIELDS =
  ': the fields are admin_tag.name, duration, execution_tag.value, label.KEY, launch_plan.name, mode, name, phase, project, started_at, state';
const FUNCTIONS = ': the functions are eq, ne, gt, gte, lt, lte, contains, not_like, value_in, value_not_in';
const OF_PLANS = ': the fields are launch_plan.name, launch_plan.state';

/** The conditions that a text of filters is parsed to. */
const conditions = (filters: string) => filtersOf(columns, filters, entities).terms.map(({ condition }) => condition);

describe('a filter', () => {
  it.each([
    ['', []],
    ['eq(phase,RUNNING)', [{ field: 'phase', is: '=', value: 'RUNNING' }]],
    ['eq(phase, RUNNING)', [{ field: 'phase', is: '=', value: 'RUNNING' }]],
    ['eq(name,  RUNNING)', [{ field: 'name', is: '=', value: ' RUNNING' }]],
    ['eq(name, )', [{ field: 'name', is: '=', value: ' ' }]],
    ['contains(phase,RUN)', [{ field: 'phase', is: 'contains', value: 'RUN' }]],
    ['not_like(phase,RUN%)', [{ field: 'phase', is: 'not like', pattern: 'RUN%' }]],
    // Phases that Flyte's console asks for are accepted, although no execution ever has them.
    [
      'value_in(phase,UNKNOWN;PAUSED;WAITING)',
      [{ field: 'phase', is: 'in', values: ['UNKNOWN', 'PAUSED', 'WAITING'] }],
    ],
    ['ne(name,a(b))', [{ field: 'name', is: '<>', value: 'a(b)' }]],
    ['eq(name,a) and so on', [{ field: 'name', is: '=', value: 'a' }]],
    ['eq(execution.state,0)', [{ field: 'state', is: '=', value: 0 }]],
    ['eq(mode,MANUAL)', [{ field: 'mode', is: '=', value: 0 }]],
    ['eq(mode,0)', [{ field: 'mode', is: '=', value: 0 }]],
    ['value_in(mode,RELAUNCH;1;-1)', [{ field: 'mode', is: 'in', values: [3, 1, -1] }]],
    ['eq(project,p)', [{ field: 'project', is: '=', value: 'p' }]],
    ['eq(launch_plan.name,a.b)', [{ field: 'launchPlan', is: '=', value: 'a.b' }]],
    ['contains(name,abc)', [{ field: 'name', is: 'contains', value: 'abc' }]],
    ['contains(name,A_%)', [{ field: 'name', is: 'like', pattern: '%A_%%' }]],
    ['contains(name,A\\_\\%)', [{ field: 'name', is: 'contains', value: 'A_%' }]],
    ['not_like(name,a%b)', [{ field: 'name', is: 'not like', pattern: 'a%b' }]],
    ['not_like(name,ab)', [{ field: 'name', is: '<>', value: 'ab' }]],
    ['value_in(phase,UNKNOWN; PAUSED)', [{ field: 'phase', is: 'in', values: ['UNKNOWN', 'PAUSED'] }]],
    ['value_in(phase,A)', [{ field: 'phase', is: 'in', values: ['A'] }]],
    ['value_in(state,0;1)', [{ field: 'state', is: 'in', values: [0, 1] }]],
    ['value_not_in(phase,A;B)', [{ field: 'phase', is: 'not in', values: ['A', 'B'] }]],
    ['gt(duration,1.5)', [{ field: 'durationMicros', is: '>', value: 1_500_000 }]],
    ['gte(duration,1h1m30s)', [{ field: 'durationMicros', is: '>=', value: 3_690_000_000 }]],
    ['lt(duration,250ms)', [{ field: 'durationMicros', is: '<', value: 250_000 }]],
    ['lt(started_at,1970-01-01T00:00:01.0000025Z)', [{ field: 'startedAt', is: '<', value: 1_000_002 }]],
    ['lte(started_at,1970-01-01t00:00:00-01:00)', [{ field: 'startedAt', is: '<=', value: 3_600_000_000 }]],
    ['lte(started_at,1970-01-01 00:00:01)', [{ field: 'startedAt', is: '<=', value: 1_000_000 }]],
    ['gt(started_at,1970-01-02)', [{ field: 'startedAt', is: '>', value: 86_400_000_000 }]],
    // An opaque column, which other control planes fill with bytes: a filter on it matches nothing.
    ['ne(closure,x)', [{ field: 'startedAt', is: 'in', values: [] }]],
    [
      'eq(state,0)+ne(phase,X)',
      [
        { field: 'state', is: '=', value: 0 },
        { field: 'phase', is: '<>', value: 'X' },
      ],
    ],
    [
      'eq(launch_plan.state,1)+gte(launch_plan.state,0)',
      [
        {
          field: 'launchPlanKey',
          is: 'key of',
          collection: plans,
          where: [
            { field: 'state', is: '=', value: 1 },
            { field: 'state', is: '>=', value: 0 },
          ],
        },
      ],
    ],
    [
      'eq(admin_tag.name,team)+contains(execution_tag.value,a)',
      [
        {
          field: 'tags',
          is: 'has pair',
          where: [
            { field: 'key', is: '=', value: 'team' },
            { field: 'value', is: 'contains', value: 'a' },
          ],
        },
      ],
    ],
    [
      'eq(label.team,a)+ne(label.app.kubernetes.io/name,b)+gt(execution.label.team,A)+eq(admin_tag.name,nightly)',
      [
        {
          field: 'tags',
          is: 'has pair',
          where: [
            { field: 'key', is: '=', value: 'team' },
            { field: 'value', is: '=', value: 'a' },
            { field: 'value', is: '>', value: 'A' },
          ],
        },
        {
          field: 'tags',
          is: 'has pair',
          where: [
            { field: 'key', is: '=', value: 'app.kubernetes.io/name' },
            { field: 'value', is: '<>', value: 'b' },
          ],
        },
        { field: 'tags', is: 'has pair', where: [{ field: 'key', is: '=', value: 'nightly' }] },
      ],
    ],
  ])('is parsed: %s', (filters, expected) => {
    expect(conditions(filters)).toEqual(expected);
  });

  it('lists the names of its fields without their entities', () => {
    expect([...filtersOf(columns, 'eq(launch_plan.state,1)+eq(name,a)', entities).names]).toEqual(['state', 'name']);
  });

  it.each([
    ['phase', "invalid value for filters: 'phase' is not function(field,value)"],
    ['eq(phase)', "invalid value for filters: 'eq(phase)' is not function(field,value)"],
    ['eq(phase,)', "invalid value for filters: 'eq(phase,)' lacks a part"],
    ['eq(,A)', "invalid value for filters: 'eq(,A)' lacks a part"],
    ['(phase,A)', "invalid value for filters: '(phase,A)' lacks a part"],
    ['eq(phase,A)+', "invalid value for filters: '' is not function(field,value)"],
    ['eq(a,b,c)', `'e.a,b' is invalid filter${FIELDS}`],
    ['eq(nothing,1)', `'e.nothing' is invalid filter${FIELDS}`],
    ['eq(toString,1)', `'e.toString' is invalid filter${FIELDS}`],
    ['eq(hidden,1)', `'e.hidden' is invalid filter${FIELDS}`],
    ['eq(execution.nothing,1)', `'e.nothing' is invalid filter${FIELDS}`],
    ['eq(label.,1)', `'e.label.' is invalid filter${FIELDS}`],
    ['eq(label,1)', `'e.label' is invalid filter${FIELDS}`],
    ['eq(label.team,a;b)', 'invalid value for label.team: eq takes one value'],
    ['eq(launch_plan.label.team,a)', `'l.label.team' is invalid filter${OF_PLANS}`],
    ['eq(cat.name,1)', `'e.cat.name' is invalid filter${FIELDS}`],
    // `signal` is an entity, but not one that filters of executions may name; `cat` above is none.
    ['eq(signal.value,1)', "'s' entity is not allowed in filters"],
    ['bad(signal.nothing,x)', "'s' entity is not allowed in filters"],
    ['eq(launch_plan.nothing,1)', `'l.nothing' is invalid filter${OF_PLANS}`],
    ['eq(launch_plan.toString,1)', `'l.toString' is invalid filter${OF_PLANS}`],
    ['eq(task.name,1)', "'t.name' is invalid filter"],
    ['eq(execution_tag.name,1)', "'et.name' is invalid filter: the fields are execution_tag.value"],
    ['like(name,1)', `unrecognized filter function: like${FUNCTIONS}`],
    ['toString(name,1)', `unrecognized filter function: toString${FUNCTIONS}`],
    ['xeq(name,1)', `unrecognized filter function: xeq${FUNCTIONS}`],
    ['eq(phase,running)', "invalid value for phase: 'running' is not one of A, B, RUNNING, X"],
    ['eq(phase, )', "invalid value for phase: '' is not one of A, B, RUNNING, X"],
    ['eq(phase,2)', "invalid value for phase: '2' is not one of A, B, RUNNING, X"],
    ['soon(phase,WRONG)', `unrecognized filter function: soon${FUNCTIONS}`],
    ['ne(execution.phase,WRONG)', "invalid value for execution.phase: 'WRONG' is not one of A, B, RUNNING, X"],
    ['gt(phase,C)', "invalid value for phase: 'C' is not one of A, B, RUNNING, X"],
    ['value_in(phase,A;WRONG)', "invalid value for phase: 'WRONG' is not one of A, B, RUNNING, X"],
    ['value_not_in(phase,WRONG)', "invalid value for phase: 'WRONG' is not one of A, B, RUNNING, X"],
    ['like(state,one)', "invalid value for state: 'one' is not a whole number"],
    ['eq(phase,A;B)', 'invalid value for phase: eq takes one value'],
    ['contains(state,1)', 'invalid value for state: contains takes a field of text'],
    ['not_like(launch_plan.state,1)', 'invalid value for launch_plan.state: not_like takes a field of text'],
    ['contains(name,a\\)', 'invalid value for name: a backslash must be followed by the character that it escapes'],
    [`contains(name,${'%'.repeat(9)})`, 'invalid value for name: more than 8 % signs in the pattern'],
    ['eq(state,one)', "invalid value for state: 'one' is not a whole number"],
    [
      'eq(mode,manual)',
      "invalid value for mode: 'manual' is neither a whole number nor one of CHILD_WORKFLOW, MANUAL, RECOVERED, RELAUNCH, SCHEDULED, SYSTEM, TRIGGER",
    ],
    ['value_in(mode,MANUAL;toString)', expect.stringContaining("'toString' is neither") as string],
    ['gt(duration,soon)', 'invalid value for duration: Failed to parse duration [soon]'],
    ['gt(started_at,yesterday)', "invalid value for started_at: 'yesterday' is not a timestamp as RFC 3339 has it"],
    [
      'gt(started_at,2023-02-30T00:00:00Z)',
      "invalid value for started_at: '2023-02-30T00:00:00Z' is not a timestamp as RFC 3339 has it",
    ],
    [
      'gt(started_at,2023-02-03T25:00:00Z)',
      "invalid value for started_at: '2023-02-03T25:00:00Z' is not a timestamp as RFC 3339 has it",
    ],
    ...['2026-01-31T24:00:00Z', '2026-01-31 24:00'].map((time) => [
      `gt(started_at,${time})`,
      `invalid value for started_at: '${time}' is not a timestamp as RFC 3339 has it`,
    ]),
    [`eq(name,${'x'.repeat(40_000)})`, 'invalid value for filters: longer than 32768 characters'],
    [`eq(state,${'1'.repeat(200)})`, `invalid value for state: '${'1'.repeat(100)}…' is too long for it`],
    [Array.from({ length: 65 }, () => 'eq(state,0)').join('+'), 'invalid value for filters: more than 64 filters'],
  ])('%s is refused', (filters, message) => {
    expect(() => conditions(filters)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', message }));
  });

  it('of more than a thousand values is refused', () => {
    const values = (count: number): string => `value_in(state,${Array.from({ length: count }, () => '1').join(';')})`;
    expect(conditions(values(1_000))).toHaveLength(1);
    expect(() => conditions(values(1_001))).toThrow(/has more than 1000 values/u);
  });

  it('of any text gives conditions or fails with INVALID_ARGUMENT', () => {
    const signs = ['eq', '(', ')', ',', '+', ';', 'name', 'state', 'launch_plan', '.', ' ', '1', '\\', '%', '∂'];
    const sign = fc.constantFrom(...signs);
    const whole = fc
      .tuple(fc.constantFrom('eq', 'ne', 'value_in'), fc.constantFrom('name', 'state', 'launch_plan.name'), sign)
      .map(([name, field, value]) => `${name}(${field},${value})`);
    const text = fc.array(fc.oneof(sign, whole), { maxLength: 6 }).map((all) => all.join(''));
    const attempt = (filters: string): unknown => {
      try {
        return conditions(filters);
      } catch (error) {
        return error;
      }
    };
    const seen = { conditions: 0, refusals: 0 }; // counted to make sure that the texts are not all of one kind
    fc.assert(
      fc.property(text, (filters) => {
        const result = attempt(filters);
        if (Array.isArray(result)) seen.conditions += result.length;
        else expect(result).toMatchObject({ code: 'INVALID_ARGUMENT' });
        if (!Array.isArray(result)) seen.refusals += 1;
      }),
      { numRuns: 300 },
    );
    expect(seen.conditions).toBeGreaterThan(3);
    expect(seen.refusals).toBeGreaterThan(10);
  });
});
