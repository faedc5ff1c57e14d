import { expect, it } from 'vitest';

import {
  containedValue,
  labelsOf,
  termsOf,
  toggled,
  valuesOf,
  withCondition,
  withLabels,
} from '../../../console/executions/filter-text.js';

it('reads the conditions of a filter text', () => {
  expect(termsOf('eq(phase,FAILED)+value_in(name,a;b)')).toEqual([
    { operator: 'eq', field: 'phase', values: ['FAILED'] },
    { operator: 'value_in', field: 'name', values: ['a', 'b'] },
  ]);
});

it('leaves out what is no condition', () => {
  expect(termsOf('phase=FAILED')).toEqual([]);
  expect(termsOf('')).toEqual([]);
});

it('keeps a value with a plus, a comma and parentheses', () => {
  const text = 'contains(name,a+b,(c))+eq(phase,FAILED)';
  expect(valuesOf(text, 'contains', 'name')).toEqual(['a+b,(c)']);
  expect(valuesOf(text, 'eq', 'phase')).toEqual(['FAILED']);
});

it('replaces the condition of the same operator and field', () => {
  const text = withCondition('eq(mode,1)+contains(name,a)', { operator: 'contains', field: 'name', values: ['b'] });
  expect(text).toBe('eq(mode,1)+contains(name,b)');
});

it('removes a condition without values', () => {
  expect(withCondition('eq(mode,1)+contains(name,a)', { operator: 'contains', field: 'name', values: [] })).toBe(
    'eq(mode,1)',
  );
});

it('adds a value, and takes it away again', () => {
  expect(toggled(['a'], 'b')).toEqual(['a', 'b']);
  expect(toggled(['a', 'b'], 'b')).toEqual(['a']);
});

it('finds a text whose characters would separate values', () => {
  expect(containedValue('a, b; c + d\\e (f)')).toBe('a_ b_ c _ d_e (f)');
});

it('asks for labels with a value, and for labels with any value', () => {
  const text = withLabels('eq(phase,FAILED)+eq(label.team,a)', 'team=growth  app.kubernetes.io/name tier= =');
  expect(text).toBe(
    'eq(phase,FAILED)+eq(label.team,growth)+contains(label.app.kubernetes.io/name,%)+contains(label.tier,%)',
  );
  expect(labelsOf(text)).toBe('team=growth app.kubernetes.io/name tier');
  expect(withLabels(text, '')).toBe('eq(phase,FAILED)');
});

it('leaves conditions on labels alone that are no label with a value', () => {
  const text = 'ne(label.team,a)+contains(label.team,b)+value_in(label.tier,x;y)';
  expect(labelsOf(text)).toBe('');
  expect(withLabels(text, 'team')).toBe(`${text}+contains(label.team,%)`);
});
