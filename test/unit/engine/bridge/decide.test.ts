import { describe, expect, it } from 'vitest';
import { nextStep, type Situation } from '../../../../engine/bridge/decide.js';

const fresh: Situation = {
  aim: 'run',
  seen: 'unknown',
  isAccepted: false,
  isFirstLease: true,
  isStarted: false,
  isKept: false,
};
const accepted = { ...fresh, isAccepted: true };
const second = { ...fresh, isFirstLease: false };
const aborted: Situation = { ...accepted, aim: 'abort' };
const over: Situation = { ...accepted, aim: 'over' };

describe('the next step of a bridge', () => {
  it.each<[string, Situation, string]>([
    ['makes the object of a launch that no engine has had', fresh, 'create'],
    ['accepts when the object stands, and not before', { ...fresh, seen: 'standing' }, 'accept'],
    ['looks for the object of a launch that some engine has had', second, 'look'],
    ['takes over the object that it made before it was killed', { ...second, seen: 'standing' }, 'accept'],
    ['makes the object when it was killed before that', { ...second, seen: 'absent' }, 'create'],
    ['begins nothing that another engine has begun', { ...second, isStarted: true, seen: 'absent' }, 'pass-on'],
    ['refuses a name that another launch has in the cluster', { ...fresh, seen: 'foreign' }, 'refuse'],
    ['leaves a running object alone', { ...accepted, seen: 'standing' }, 'wait'],
    ['ends an execution whose object has gone', { ...accepted, seen: 'absent' }, 'end'],
    ['accepts an abort before it carries it out', { ...aborted, isAccepted: false }, 'accept'],
    [
      'accepts an abort that has come while the object was made',
      { ...aborted, isAccepted: false, seen: 'standing' },
      'accept',
    ],
    ['deletes the object of an aborted execution', { ...aborted, seen: 'standing' }, 'delete'],
    ['waits until the engine has let the object go', { ...aborted, seen: 'deleting' }, 'wait'],
    ['takes no finalizer from an engine that is aborting', { ...aborted, seen: 'abandoned' }, 'wait'],
    ['ends an aborted execution that has no object', { ...aborted, seen: 'absent' }, 'end'],
    ['leaves the object of another launch alone, and ends its own', { ...aborted, seen: 'foreign' }, 'end'],
    ['keeps the object of a finished execution for a while', { ...over, seen: 'standing', isKept: true }, 'wait'],
    ['deletes it then', { ...over, seen: 'standing' }, 'delete'],
    ['waits for the engine', { ...over, seen: 'deleting' }, 'wait'],
    ['removes the finalizer of an engine that does not come', { ...over, seen: 'abandoned' }, 'release'],
    ['forgets what has gone', { ...over, seen: 'absent' }, 'forget'],
    ['forgets a name that another launch has', { ...over, seen: 'foreign' }, 'forget'],
  ])('%s', (_, situation, step) => {
    expect(nextStep(situation)).toBe(step);
  });
});
