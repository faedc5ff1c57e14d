import { expect, it } from 'vitest';

import { termsOf, toggled, valuesOf, withCondition } from '../../../console/executions/filter-text.js';

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
