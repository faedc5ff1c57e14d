import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { AttemptOutcome } from '../../../services/notification/commands.js';
import type { Channel } from '../../../services/reactors/notify/channels/channel.js';
import { mailChannel, type MailOptions } from '../../../services/reactors/notify/channels/mail.js';
import { outboxChannel } from '../../../services/reactors/notify/channels/outbox.js';
import { certificates } from '../../support/servers/certificates.js';
import { smtpSink, type SmtpSink } from '../../support/servers/smtp-sink.js';
import { failure, messageTo } from './sample-message.js';

let sink: SmtpSink;
let channel: Channel | undefined;

/** A channel to the server of the test. */
const open = (options: Partial<MailOptions> = {}): Channel =>
  (channel = mailChannel({
    host: '127.0.0.1',
    port: sink.port,
    security: 'none',
    authorities: undefined,
    username: '',
    password: '',
    maxConnections: 2,
    timeoutMs: 10_000,
    ...options,
  }));
/** The time limit of one mail. */
const signal = (ms = 10_000): AbortSignal => AbortSignal.timeout(ms);
const sendTo = (recipient: string): Promise<AttemptOutcome> => open().send(messageTo(recipient), signal());

beforeEach(async () => {
  sink = await smtpSink();
});
afterEach(async () => {
  channel?.close();
  await sink.die();
});

describe('mail', () => {
  it('is sent, with the answer of the server', async () => {
    expect(await sendTo('ann@example.com')).toEqual({ kind: 'sent', answer: '250 2.0.0 queued' });
    expect(sink.mails).toMatchObject([{ to: 'ann@example.com', isAnswered: true }]);
    const { content = '' } = sink.mails[0] ?? {};
    expect(content).toMatch(/^Message-ID: <m-ann@example\.com@flightlog\.invalid>$/mu);
    expect(content).toMatch(/^From: flightlog shop <flightlog@example\.com>$/mu);
    expect(content).toMatch(/^Subject: shop\/production: a1b2 has failed$/mu);
    expect(content).toContain('multipart/alternative');
  });

  it('that is a repetition says so, and has the id of the mail that it repeats', async () => {
    await open().send(messageTo('ann@example.com', failure, true), signal());
    expect(sink.mails[0]?.content).toMatch(/^Message-ID: <m-ann@example\.com@flightlog\.invalid>$/mu);
    expect(sink.mails[0]?.content).toMatch(/^X-Flightlog-Repeat: true$/mu);
  });

  it('to an address that the server does not know is refused', async () => {
    expect(await sendTo('unknown@example.com')).toMatchObject({ kind: 'refused', reason: '550 5.1.1 no such user' });
  });

  it('that the server defers has failed', async () => {
    expect(await sendTo('deferred@example.com')).toMatchObject({ kind: 'failed', reason: '451 4.3.0 try again later' });
  });

  it('whose recipient the server does not acknowledge in time has failed, and was not sent', async () => {
    expect(await open().send(messageTo('stalled@example.com'), signal(200))).toMatchObject({ kind: 'failed' });
    expect(sink.mails).toEqual([]);
  });

  it('may have been sent when its connection ends before the answer, and is not sent again by itself', async () => {
    expect(await sendTo('dropped@example.com')).toMatchObject({ kind: 'unknown' });
    expect(await channel?.send(messageTo('ann@example.com'), signal())).toMatchObject({ kind: 'sent' });
    expect(sink.mails.map(({ to }) => to)).toEqual(['dropped@example.com', 'ann@example.com']);
  });

  it('has failed when there is no server', async () => {
    await sink.die();
    expect(await sendTo('ann@example.com')).toMatchObject({ kind: 'failed' });
  });

  it('is not sent without encryption when STARTTLS is required', async () => {
    const outcome = await open({ security: 'starttls' }).send(messageTo('ann@example.com'), signal());
    expect(outcome).toMatchObject({ kind: 'failed' });
    expect(sink.mails).toEqual([]);
  });

  it('is sent with the right password; with a wrong one it fails', async () => {
    await sink.die();
    sink = await smtpSink({ user: 'flightlog', password: 'right' });
    const sendAs = (password: string): Promise<AttemptOutcome> =>
      open({ username: 'flightlog', password }).send(messageTo('ann@example.com'), signal());
    expect(await sendAs('wrong')).toMatchObject({ kind: 'failed' });
    channel?.close();
    expect(await sendAs('right')).toMatchObject({ kind: 'sent' });
  });
});

describe('mail by TLS', () => {
  const files = certificates();
  beforeAll(() => {
    files.authority('ca');
    files.issue('ca', 'server');
  });
  afterAll(() => files.remove());

  it.each(['tls', 'starttls'] as const)('(%s) goes only to a server whose certificate is trusted', async (security) => {
    await sink.die();
    const [key, cert] = [readFileSync(files.file('server.key')), readFileSync(files.file('server.pem'))];
    const login = { username: 'flightlog', password: 'right' };
    sink = await smtpSink({
      user: login.username,
      password: login.password,
      tls: { key, cert, secure: security === 'tls' },
    });
    const untrusted = await open({ security, ...login }).send(messageTo('ann@example.com'), signal());
    expect(untrusted).toMatchObject({ kind: 'failed', reason: expect.stringContaining('certificate') as string });
    expect(sink.mails).toEqual([]);
    channel?.close();
    const authorities = readFileSync(files.file('ca.pem'), 'utf8');
    expect(await open({ security, authorities, ...login }).send(messageTo('ann@example.com'), signal())).toMatchObject({
      kind: 'sent',
    });
    expect(sink.mails).toHaveLength(1);
  });
});

describe('the outbox', () => {
  it('has a file for each mail', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'flightlog-outbox-'));
    const outcome = await outboxChannel(join(directory, 'outbox')).send(messageTo('ann@example.com'), signal());
    const file = join(directory, 'outbox', 'm-ann@example.com.eml');
    expect(outcome).toEqual({ kind: 'sent', answer: `written to ${file}` });
    expect(readdirSync(join(directory, 'outbox'))).toEqual(['m-ann@example.com.eml']);
    expect(readFileSync(file, 'utf8')).toMatch(/^To: ann@example\.com\r$/mu);
    rmSync(directory, { recursive: true });
  });

  it.runIf(process.platform === 'linux')('says where its folder cannot be created', async () => {
    const outcome = await outboxChannel('/proc/flightlog/outbox').send(messageTo('ann@example.com'), signal());
    expect(outcome).toEqual({ kind: 'failed', reason: 'no folder can be created in /proc' });
  });
});
