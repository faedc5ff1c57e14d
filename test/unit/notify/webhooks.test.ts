import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { AttemptOutcome } from '../../../services/notification/commands.js';
import { checkedAddress, isPublic } from '../../../services/reactors/notify/channels/address.js';
import { retryAfterMs } from '../../../services/reactors/notify/channels/post.js';
import { pagerDutyChannel } from '../../../services/reactors/notify/channels/pagerduty.js';
import { slackChannel } from '../../../services/reactors/notify/channels/slack.js';
import { webhookChannel, type WebhookOptions } from '../../../services/reactors/notify/channels/webhook.js';
import { webhookSink, type WebhookSink } from '../../support/servers/webhook-sink.js';
import { failure, messageTo, START_MS } from './sample-message.js';

const KEY = Buffer.from('a key of some length');
let sink: WebhookSink;

beforeEach(async () => {
  sink = await webhookSink();
});
afterEach(() => sink.close());

/** The options of a channel that posts to this path of the sink. */
const target = (path: string) => ({ url: `${sink.url}${path}`, allowPrivate: true, now: () => START_MS });
const hook = (path: string, more: Partial<WebhookOptions> = {}) =>
  webhookChannel({ ...target(path), secret: `whsec_${KEY.toString('base64')}`, logId: 'log-1', ...more });
const send = (path: string, timeoutMs = 10_000): Promise<AttemptOutcome> =>
  hook(path).send(messageTo(''), AbortSignal.timeout(timeoutMs));
/** The body of the first post, parsed. */
const posted = (): unknown => JSON.parse(sink.posts[0]?.body ?? 'null');

describe('a webhook', () => {
  it('gets a CloudEvent', async () => {
    expect(await send('/hook')).toEqual({ kind: 'sent', answer: '204' });
    expect(sink.posts[0]?.headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
    expect(posted()).toMatchObject({
      specversion: '1.0',
      id: 'm-',
      source: 'urn:flightlog:log-1',
      type: 'flightlog.notification.v1',
      subject: 'shop/production/a1b2',
      time: '2026-01-01T01:30:30.000Z',
      data: { phase: 'FAILED', error: 'no such file', failing_node: 'n1', is_repeat: false, labels: { team: 'sales' } },
    });
  });

  it('gets a signature that its key verifies', async () => {
    await send('/hook');
    const { headers = {}, body } = sink.posts[0] ?? {};
    expect(headers).toMatchObject({ 'webhook-id': 'm-', 'webhook-timestamp': String(START_MS / 1_000) });
    const signature = createHmac('sha256', KEY)
      .update(`m-.${START_MS / 1_000}.${body}`)
      .digest('base64');
    expect(headers).toMatchObject({ 'webhook-signature': `v1,${signature}` });
  });

  it.each<[string, AttemptOutcome]>([
    ['/broken', { kind: 'failed', reason: '500 it is broken' }],
    ['/busy', { kind: 'failed', reason: '429 slow down', retryAfterMs: 120_000 }],
    ['/gone', { kind: 'refused', reason: '410 no such hook' }],
    ['/moved', { kind: 'refused', reason: '302 (redirects are not followed)' }],
  ])('at %s has the outcome that its answer stands for: %j', async (path, outcome) => {
    expect(await send(path)).toEqual(outcome);
    expect(sink.posts).toHaveLength(1);
  });

  it('that does not answer, or whose connection ends, may have taken the message', async () => {
    expect(await send('/stalled', 200)).toMatchObject({ kind: 'unknown' });
    expect(await send('/dropped')).toMatchObject({ kind: 'unknown' });
  });

  it('that cannot be reached has not taken the message', async () => {
    await sink.close();
    expect(await send('/hook')).toMatchObject({ kind: 'failed' });
    sink = await webhookSink();
  });

  it('whose name is not resolved in time has not taken the message', async () => {
    const resolve = () => new Promise<never>(() => undefined);
    const unresolved = hook('/', { url: 'http://hook.example/', resolve });
    expect(await unresolved.send(messageTo(''), AbortSignal.timeout(50))).toMatchObject({ kind: 'failed' });
  });

  it('at a private address is refused, also behind a name, and without a connection', async () => {
    const onlyPublic = { allowPrivate: false } as const;
    expect(await hook('/hook', onlyPublic).send(messageTo(''), AbortSignal.timeout(10_000))).toMatchObject({
      kind: 'refused',
    });
    const url = 'http://hooks.example.com/';
    const resolve = () => Promise.resolve([{ address: '10.0.0.7', family: 4 }]);
    const behindName = await hook('/', { ...onlyPublic, url, resolve }).send(
      messageTo(''),
      AbortSignal.timeout(10_000),
    );
    expect(behindName).toMatchObject({ kind: 'refused', reason: expect.stringContaining('10.0.0.7') as string });
    expect(sink.posts).toEqual([]);
  });

  it('is resolved once, and reached at the address that was checked', async () => {
    let resolved = 0;
    const resolve = () => {
      resolved += 1;
      return Promise.resolve([{ address: resolved === 1 ? '127.0.0.1' : '192.0.2.1', family: 4 }]);
    };
    const url = sink.url.replace('127.0.0.1', 'hooks.example.com');
    expect(await hook('/', { url, resolve }).send(messageTo(''), AbortSignal.timeout(10_000))).toMatchObject({
      kind: 'sent',
    });
    expect(resolved).toBe(1);
  });
});

describe('Slack', () => {
  it('gets texts of users with their markup escaped', async () => {
    const content = { ...failure, error: '<!channel> & *more*' };
    await slackChannel(target('/slack')).send(messageTo('', content), AbortSignal.timeout(10_000));
    expect(posted()).toMatchObject({
      text: 'shop/production: a1b2 has failed',
      mrkdwn: false,
      blocks: [
        { text: { type: 'plain_text', text: expect.stringContaining('&lt;!channel&gt; &amp; *more*') as string } },
        { text: { type: 'mrkdwn', text: '<https://console.example.com/shop/a1b2>' } },
      ],
    });
  });

  it('gets at most 3,000 characters of a long text, cut between two characters', async () => {
    // Each prefix moves the place of the cut within `&amp;🙂`.
    for (const prefix of ['', 'x', 'xx', 'xxx']) {
      const content = { ...failure, failingNode: `${prefix}${'&🙂'.repeat(1_000)}` };
      await slackChannel(target('/slack')).send(messageTo('', content), AbortSignal.timeout(10_000));
      const [{ text }] = (JSON.parse(sink.posts.at(-1)?.body ?? '') as { blocks: [{ text: { text: string } }] }).blocks;
      expect(text.text.length).toBeLessThanOrEqual(3_000);
      expect(text.text).toMatch(/(?:&amp;|🙂)$/u);
    }
  });
});

describe('PagerDuty', () => {
  const sendPhase = async (phase: Phase): Promise<unknown> => {
    const channel = pagerDutyChannel({ ...target('/v2/enqueue'), routingKey: 'R0' });
    await channel.send(messageTo('', { ...failure, phase }), AbortSignal.timeout(10_000));
    return JSON.parse(sink.posts.at(-1)?.body ?? 'null');
  };
  it('is triggered by a failure and resolved by the success of the same execution', async () => {
    const dedup_key = 'flightlog/shop/production/a1b2';
    expect(await sendPhase(Phase.FAILED)).toMatchObject({
      routing_key: 'R0',
      dedup_key,
      event_action: 'trigger',
      payload: { severity: 'error', source: 'shop/production/a1b2', custom_details: { failing_node: 'n1' } },
    });
    expect(await sendPhase(Phase.SUCCEEDED)).toEqual({ routing_key: 'R0', dedup_key, event_action: 'resolve' });
  });

  it('has a summary of 1,024 characters at most, cut between two characters', async () => {
    const channel = pagerDutyChannel({ ...target('/v2/enqueue'), routingKey: 'R0' });
    const message = { ...messageTo('', failure), subject: `x${'🙂'.repeat(1_000)}` };
    await channel.send(message, AbortSignal.timeout(10_000));
    // With two UTF-16 code units for each emoji these are 1,023; one more emoji would make 1,025.
    expect(sink.posts.at(-1)?.body).toContain(`"summary":"x${'🙂'.repeat(511)}"`);
  });
});

describe('an address', () => {
  // Addresses of the machine itself, of private and link-local networks, of carriers, for multicast and broadcast; the
  // last IPv6 addresses embed such an IPv4 address.
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:a00:1',
    '64:ff9b::a00:1',
    '2002:7f00:1::',
    'not an address',
  ])('%s is not public', (address) => {
    expect(isPublic(address)).toBe(false);
  });
  it.each(['93.184.215.14', '172.32.0.1', '2606:2800:21f:cb07::1'])('%s is public', (address) => {
    expect(isPublic(address)).toBe(true);
  });
  // Ways to write 127.0.0.1.
  it.each(['http://2130706433/', 'http://0x7f.1/', 'http://[::ffff:7f00:1]/', 'http://127.1/'])(
    'of %s is not public',
    async (url) => {
      await expect(checkedAddress(new URL(url).hostname, false)).rejects.toThrow('not public');
    },
  );
  it('is refused where one of several addresses of a name is not public', async () => {
    const addresses = ['93.184.215.14', '127.0.0.1'].map((address) => ({ address, family: 4 }));
    await expect(checkedAddress('x.example', false, () => Promise.resolve(addresses))).rejects.toThrow('127.0.0.1');
    expect(await checkedAddress('x.example', true, () => Promise.resolve(addresses))).toEqual(addresses[0]);
  });
});

describe('Retry-After', () => {
  it('is in seconds or a date, and at most a day', () => {
    expect(retryAfterMs('7', START_MS)).toBe(7_000);
    expect(retryAfterMs(new Date(START_MS + 9_000).toUTCString(), START_MS)).toBe(9_000);
    expect(retryAfterMs('9999999', START_MS)).toBe(86_400_000);
    expect(retryAfterMs('soon', START_MS)).toBeUndefined();
  });
  it('is never a time before now', () => {
    const times = fc.date({ noInvalidDate: true }).map((date) => date.toUTCString());
    fc.assert(
      fc.property(fc.oneof(fc.string(), times), (header) => {
        expect(retryAfterMs(header, START_MS) ?? 0).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
