import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { testChannel } from '../../../services/cli/notifications-test.js';
import { type Configuration, configure } from '../../../services/config/configuration.js';
import { webhookSink, type WebhookSink } from '../../support/servers/webhook-sink.js';

let sink: WebhookSink;
let outbox: string; // mail is written to this directory; the setting makes the channel `mail`
let configuration: Configuration;
let printed: string;

beforeEach(async () => {
  sink = await webhookSink();
  outbox = mkdtempSync(join(tmpdir(), 'flightlog-outbox-'));
  const hook = (name: string) => ({ name, type: 'webhook', url: `${sink.url}/${name}`, allow_private: true });
  const value = { outbox, channels: [hook('hook'), hook('gone')] };
  configuration = configure([{ path: ['notifications'], value, origin: 'test' }]);
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await sink.close();
  rmSync(outbox, { recursive: true });
});

describe('testing a channel', () => {
  it('sends one message that says that it is a test, and prints the answer', async () => {
    await testChannel(configuration, 'hook', {});
    expect(sink.posts).toHaveLength(1);
    expect(sink.posts[0]?.body).toContain('Test: Execution test in test/test: succeeded');
    expect(printed).toBe('hook: sent: 204\n');
  });

  it('sends mail to the address that is named', async () => {
    await testChannel(configuration, 'mail', { to: 'ann@example.com' });
    const [file = ''] = readdirSync(outbox);
    const mail = readFileSync(join(outbox, file), 'utf8');
    expect(mail).toContain('To: ann@example.com');
    expect(mail).toContain('This is a test message');
  });

  it.each([
    ['the server refuses', 'gone', {}, 'gone: refused: 410 no such hook'],
    ['there is no such channel', 'pager', {}, 'there is no channel pager; there are: mail, hook, gone'],
    ['mail has no address', 'mail', {}, 'mail needs the address of a recipient: --to ADDRESS'],
    [
      'another channel has an address',
      'hook',
      { to: 'ann@example.com' },
      'hook is itself the recipient: it takes no --to',
    ],
  ])('fails where %s', async (_what, name, flags, message) => {
    await expect(testChannel(configuration, name, flags)).rejects.toMatchObject({ message });
    expect(printed).toBe('');
  });
});
