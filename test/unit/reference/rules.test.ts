import { describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { versionOf } from '../../../services/kernel/identifier.js';
import { assertLabels } from '../../../services/kernel/values/labels.js';
import { assertNotifications, type RequestedNotification } from '../../../services/kernel/values/notifications.js';

const id = { resourceType: ResourceType.TASK, project: 'p', domain: 'd', name: 'n', version: 'v' };

describe('the identifier of a version of a task', () => {
  it('has its five stored fields, and loses any other, such as org', () => {
    expect(versionOf('TASK', { ...id, org: 'o' } as typeof id)).toEqual(id);
  });

  it.each([
    [undefined, 'missing id'],
    [{ ...id, resourceType: ResourceType.UNSPECIFIED, project: '' }, 'unexpected resource type unspecified'],
    [{ ...id, resourceType: ResourceType.LAUNCH_PLAN }, 'unexpected resource type launch_plan'],
    [{ ...id, resourceType: 99 }, 'unexpected resource type 99'],
    [{ ...id, project: '', name: '' }, 'missing project'],
    [{ ...id, domain: '' }, 'missing domain'],
    [{ ...id, name: '' }, 'missing name'],
    [{ ...id, version: '' }, 'missing version'],
  ])('is refused: %j', (sent, text) => expect(() => versionOf('TASK', sent)).toThrow(text));
});

describe('labels', () => {
  const values = (key: string, value = '') => ({ values: { [key]: value } });

  it.each([
    undefined,
    { values: {} },
    values('a'),
    values('A-b_c.d', 'X'),
    values('example.com/name', 'v-1_2.3'),
    values(`${'a'.repeat(253)}/${'b'.repeat(63)}`, 'c'.repeat(63)), // the longest prefix, name and value
  ])('may be %j', (labels) => expect(() => assertLabels(labels)).not.toThrow());

  it.each([
    [values(''), 'label key'],
    [values('a b'), 'label key'],
    [values('-a'), 'label key'],
    [values('a/b/c'), 'label key'],
    [values('/a'), 'label key'],
    [values('a/'), 'label key'],
    [values('Example.com/a'), 'label key'],
    [values('a'.repeat(64)), 'label key'],
    [values(`${'a'.repeat(254)}/b`), 'label key'],
    [values('a', 'x/y'), 'label value'],
    [values('a', 'x\n'), 'label value'],
    [values('a', 'x'.repeat(64)), 'label value'],
    // One label more than the 16 that an object may have.
    [{ values: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, ''])) }, 'labels map'],
  ])('are refused: %j', (labels, text) => expect(() => assertLabels(labels)).toThrow(text));
});

describe('notifications', () => {
  const email = (...recipientsEmail: string[]): RequestedNotification['type'] => ({
    case: 'email',
    value: { recipientsEmail },
  });

  it('name a recipient, and terminal phases or none', () => {
    const terminal = [Phase.SUCCEEDED, Phase.FAILED, Phase.ABORTED, Phase.TIMED_OUT];
    expect(() => assertNotifications([{ phases: terminal, type: email('ada@example.com') }])).not.toThrow();
    expect(() => assertNotifications([{ phases: [], type: email('ada@example.com') }])).not.toThrow();
  });

  it.each([
    [{ phases: [Phase.SUCCEEDED], type: { case: undefined } }, 'invalid value for notification type'],
    [{ phases: [Phase.SUCCEEDED], type: email() }, 'missing recipients'],
    [{ phases: [Phase.SUCCEEDED], type: email('ada@example.com', '') }, 'missing recipient'],
    [{ phases: [Phase.SUCCEEDED, Phase.RUNNING], type: email('ada@example.com') }, 'invalid value for phase'],
  ] as [RequestedNotification, string][])('are refused: %j', (rule, text) =>
    expect(() => assertNotifications([rule])).toThrow(text),
  );

  it('have a thousand recipients at most, over all rules', () => {
    const ruleFor = (recipients: number): RequestedNotification => ({
      phases: [Phase.SUCCEEDED],
      type: email(...Array.from({ length: recipients }, (_, index) => `a${index}@example.com`)),
    });
    expect(() => assertNotifications([ruleFor(999), ruleFor(1)])).not.toThrow();
    expect(() => assertNotifications([ruleFor(999), ruleFor(2)])).toThrow('1001 are more than 1000');
  });
});
