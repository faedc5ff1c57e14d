import { describe, expect, it } from 'vitest';
import { nextStep, type Situation } from '../../../../engine/bridge/decide.js';

/** The situation of a launch that is leased for the first time. */
const fresh: Situation = {
  aim: 'run',
  seen: 'unknown',
  isAccepted: false,
  isFirstLease: true,
  isStarted: false,
  isKept: false,
};
const accepted = { ...fresh, isAccepted: true };
/** The situation of a launch that some engine has leased before. */
const leasedBefore = { ...fresh, isFirstLease: false };
const aborted: Situation = { ...accepted, aim: 'abort' };
const over: Situation = { ...accepted, aim: 'over' };

describe('the next step of a bridge', () => {
  it.each<[string, Situation, string]>([
    ['creates the object of a launch that no engine has had', fresh, 'create'],
    ['accepts a launch once its object exists', { ...fresh, seen: 'present' }, 'accept'],
    ['looks for the object of a launch that some engine has had', leasedBefore, 'observe'],
    ['accepts a launch whose object it created before it was killed', { ...leasedBefore, seen: 'present' }, 'accept'],
    [
      'creates the object of a launch when the bridge was killed before that',
      { ...leasedBefore, seen: 'absent' },
      'create',
    ],
    [
      'passes on a launch that another engine has started',
      { ...leasedBefore, isStarted: true, seen: 'absent' },
      'pass-on',
    ],
    ['refuses a name that another launch has in the cluster', { ...fresh, seen: 'foreign' }, 'refuse'],
    ['leaves a running object alone', { ...accepted, seen: 'present' }, 'wait'],
    ['ends an execution whose object has gone', { ...accepted, seen: 'absent' }, 'end'],
    ['accepts an abort before it carries it out', { ...aborted, isAccepted: false }, 'accept'],
    [
      'accepts an abort that was requested while the object was created',
      { ...aborted, isAccepted: false, seen: 'present' },
      'accept',
    ],
    ['deletes the object of an aborted execution', { ...aborted, seen: 'present' }, 'delete'],
    ['waits while the object of an aborted execution is being deleted', { ...aborted, seen: 'deleting' }, 'wait'],
    ['removes no finalizer from an object that is being aborted', { ...aborted, seen: 'abandoned' }, 'wait'],
    ['ends an aborted execution that has no object', { ...aborted, seen: 'absent' }, 'end'],
    ['ends an aborted execution whose name another launch has in the cluster', { ...aborted, seen: 'foreign' }, 'end'],
    ['keeps the object of a finished execution for a while', { ...over, seen: 'present', isKept: true }, 'wait'],
    ['deletes the object of a finished execution that is no longer kept', { ...over, seen: 'present' }, 'delete'],
    ['waits while the object of a finished execution is being deleted', { ...over, seen: 'deleting' }, 'wait'],
    [
      'removes the finalizer of an object when the engine in the cluster does not',
      { ...over, seen: 'abandoned' },
      'release',
    ],
    ['forgets a finished execution whose object has gone', { ...over, seen: 'absent' }, 'forget'],
    [
      'forgets a finished execution whose name another launch has in the cluster',
      { ...over, seen: 'foreign' },
      'forget',
    ],
  ])('%s', (_, situation, step) => {
    expect(nextStep(situation)).toBe(step);
  });
});
