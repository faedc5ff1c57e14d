import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { NotificationSchema } from '../../../proto/gen/platformidl/admin/common_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { MessageContent } from '../../../services/reactors/notify/message-content.js';
import {
  messagesAbout,
  type RoutingRule,
  phasesWithMessages,
  type Routing,
} from '../../../services/reactors/notify/recipients.js';
import { failure } from './sample-message.js';

const rule: RoutingRule = {
  projects: ['*'],
  domains: ['*'],
  phases: [Phase.FAILED],
  longRunning: false,
  labels: {},
  channel: 'hook',
  recipients: [],
};
/** Routes e-mail entries to `mail`, and entries for PagerDuty to no channel. */
const routing = (rules: readonly RoutingRule[] = [], slack = 'mail'): Routing => ({
  entries: { email: 'mail', slack, pagerDuty: undefined },
  isMail: (channel) => channel === 'mail',
  rules,
});
/** The channel and recipient of each message, `mail:ann@example.com`, in order. */
const destinations = (content: MessageContent, routes: Routing): readonly string[] =>
  messagesAbout(content, routes).map(({ channel, recipient }) => `${channel}:${recipient}`);
const entry = (kind: 'email' | 'slack' | 'pagerDuty', recipientsEmail: string[], phases = [Phase.FAILED]) =>
  create(NotificationSchema, { phases, type: { case: kind, value: { recipientsEmail } } as never });

describe('the entries of an execution', () => {
  it('are one message for each address', () => {
    expect(destinations(failure, routing())).toEqual(['mail:ann@example.com', 'mail:bob@example.com']);
  });
  it('cause no message in a phase that they do not name', () => {
    expect(destinations({ ...failure, phase: Phase.SUCCEEDED }, routing())).toEqual([]);
    expect(destinations({ ...failure, entries: [entry('email', ['ann@example.com'], [])] }, routing())).toEqual([]);
  });
  it('for Slack are mail to each address, or one message where Slack has a channel of its own', () => {
    const content = { ...failure, entries: [entry('slack', ['a@slack.example', 'b@slack.example'])] };
    expect(destinations(content, routing())).toEqual(['mail:a@slack.example', 'mail:b@slack.example']);
    expect(destinations(content, routing([], 'team'))).toEqual(['team:']);
  });
  it('without a channel go nowhere', () => {
    expect(destinations({ ...failure, entries: [entry('pagerDuty', ['x@example.com'])] }, routing())).toEqual([]);
  });
  it('send each recipient the same message once', () => {
    const entries = [...failure.entries, ...failure.entries];
    const rules = [{ ...rule, channel: 'mail', recipients: ['ann@example.com', 'cy@example.com'] }];
    expect(destinations({ ...failure, entries }, routing(rules))).toEqual([
      'mail:ann@example.com',
      'mail:bob@example.com',
      'mail:cy@example.com',
    ]);
  });
});

describe('a rule', () => {
  const content = { ...failure, entries: [] };
  it.each<[string, Partial<RoutingRule>, boolean]>([
    ['for everything', {}, true],
    ['of the project', { projects: ['other', 'shop'] }, true],
    ['of another project', { projects: ['other'] }, false],
    ['of the domain', { domains: ['production'] }, true],
    ['of another domain', { domains: ['staging'] }, false],
    ['of another phase', { phases: [Phase.SUCCEEDED, Phase.RUNNING] }, false],
    ['with a label that the execution has', { labels: { team: 'sales' } }, true],
    ['with a label of another value', { labels: { team: 'support' } }, false],
    ['with a label that the execution does not have', { labels: { team: 'sales', tier: '' } }, false],
  ])('%s, %j, applies: %s', (_, fields, doesApply) => {
    expect(destinations(content, routing([{ ...rule, ...fields }]))).toEqual(doesApply ? ['hook:'] : []);
  });
  it('does not apply where the execution has disabled all messages', () => {
    expect(destinations({ ...failure, isDisabled: true }, routing([rule]))).toEqual([]);
  });
  it('adds its phases to the terminal ones', () => {
    expect([...phasesWithMessages([{ ...rule, phases: [Phase.RUNNING] }])]).toEqual([
      Phase.SUCCEEDED,
      Phase.FAILED,
      Phase.ABORTED,
      Phase.TIMED_OUT,
      Phase.RUNNING,
    ]);
  });
});

describe('the id of a message', () => {
  const ids = (content: MessageContent): readonly string[] => messagesAbout(content, routing()).map(({ id }) => id);
  it('is the same for the same event, channel and recipient, and differs for another recipient or event', () => {
    expect(ids(failure)).toEqual(ids({ ...failure, error: 'another' }));
    expect(new Set([...ids(failure), ...ids({ ...failure, eventId: '0c' })]).size).toBe(4);
    expect(ids({ ...failure, eventId: '0a-0b' })).toEqual(ids(failure)); // earlier releases wrote no hyphens
  });
});

describe('an execution that runs for long', () => {
  const content = { ...failure, phase: Phase.RUNNING, runningLongerThanMs: 3_600_000 };
  it('causes messages by rules that ask for it, and by nothing else', () => {
    const entries = [entry('email', ['ann@example.com'], [Phase.RUNNING])];
    expect(destinations({ ...content, entries }, routing([{ ...rule, phases: [Phase.RUNNING] }]))).toEqual([]);
    expect(destinations(content, routing([{ ...rule, phases: [], longRunning: true }]))).toEqual(['hook:']);
    expect(destinations({ ...failure, entries: [] }, routing([{ ...rule, phases: [], longRunning: true }]))).toEqual(
      [],
    );
  });
  it('causes another message than its phase does', () => {
    const rules = [{ ...rule, phases: [Phase.RUNNING], longRunning: true }];
    const [long] = messagesAbout(content, routing(rules));
    const [phase] = messagesAbout({ ...failure, phase: Phase.RUNNING }, routing(rules));
    expect([long, phase].map((message) => message?.phase)).toEqual([Phase.RUNNING, Phase.RUNNING]);
    expect(long!.id).not.toBe(phase!.id);
  });
});
