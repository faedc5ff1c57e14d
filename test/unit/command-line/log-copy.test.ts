import { expect, it } from 'vitest';
import { differenceOf } from '../../../services/cli/log/copy.js';

it('the difference of a log copy is another event, or the same event with other content', () => {
  const name = 'execution-a at revision 3';
  expect(differenceOf(name, name)).toBe('the copy differs: execution-a at revision 3 has other content');
  expect(differenceOf(name, 'task-b at revision 0')).toBe(
    'the copy differs: it has task-b at revision 0 in place of execution-a at revision 3',
  );
});
