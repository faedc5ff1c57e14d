import { expect, it } from 'vitest';

import {
  conditionToFind,
  containedValue,
  labelsOf,
  termsOf,
  toggled,
  valuesOf,
  withCondition,
  withLabels,
} from '../../../console/executions/filter-text.js';

it('a filter text has conditions of operator, field and values', () => {
  expect(termsOf('eq(phase,FAILED)+value_in(name,a;b)')).toEqual([
    { operator: 'eq', field: 'phase', values: ['FAILED'] },
    { operator: 'value_in', field: 'name', values: ['a', 'b'] },
  ]);
});

it('text that is no condition is left out', () => {
  expect(termsOf('phase=FAILED')).toEqual([]);
  expect(termsOf('')).toEqual([]);
});

it('a plus, a comma and parentheses in a value do not end it when a filter text is parsed', () => {
  const text = 'contains(name,a+b,(c))+eq(phase,FAILED)';
  expect(valuesOf(text, 'contains', 'name')).toEqual(['a+b,(c)']);
  expect(valuesOf(text, 'eq', 'phase')).toEqual(['FAILED']);
});

it('a condition replaces that of the same operator and field', () => {
  const text = withCondition('eq(mode,1)+contains(name,a)', { operator: 'contains', field: 'name', values: ['b'] });
  expect(text).toBe('eq(mode,1)+contains(name,b)');
});

it('a condition without values is removed', () => {
  expect(withCondition('eq(mode,1)+contains(name,a)', { operator: 'contains', field: 'name', values: [] })).toBe(
    'eq(mode,1)',
  );
});

it('a toggled value is added, or removed when it is there', () => {
  expect(toggled(['a'], 'b')).toEqual(['a', 'b']);
  expect(toggled(['a', 'b'], 'b')).toEqual(['a']);
});

it('the wildcard _ replaces backslashes, and characters of a text that separate values or conditions', () => {
  expect(containedValue('a, b; c + d\\e (f)')).toBe('a_ b_ c _ d_e (f)');
});

it('a version with a plus, which the filters of the server cannot contain, is found by a similar text', () => {
  expect(withCondition('', conditionToFind('version', 'v1'))).toBe('eq(version,v1)');
  expect(withCondition('', conditionToFind('version', '1.0+abc'))).toBe('contains(version,1.0_abc)');
});

it('labels become conditions, with a value or with any value', () => {
  const text = withLabels('eq(phase,FAILED)+eq(label.team,a)', 'team=growth  app.kubernetes.io/name tier= =');
  expect(text).toBe(
    'eq(phase,FAILED)+eq(label.team,growth)+contains(label.app.kubernetes.io/name,%)+contains(label.tier,%)',
  );
  expect(labelsOf(text)).toBe('team=growth app.kubernetes.io/name tier');
  expect(withLabels(text, '')).toBe('eq(phase,FAILED)');
});

it('characters that no label has, and that separate values or conditions in a filter, separate labels', () => {
  expect(withLabels('', 'team=a,b; tier+zone=x')).toBe(
    'eq(label.team,a)+contains(label.b,%)+contains(label.tier,%)+eq(label.zone,x)',
  );
});

it('other conditions on labels are kept', () => {
  const text = 'ne(label.team,a)+contains(label.team,b)+value_in(label.tier,x;y)';
  expect(labelsOf(text)).toBe('');
  expect(withLabels(text, 'team')).toBe(`${text}+contains(label.team,%)`);
});
