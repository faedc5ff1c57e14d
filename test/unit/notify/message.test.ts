import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { composeMessage } from '../../../services/reactors/notify/message/message.js';
import {
  durationText,
  fillTemplate,
  firstLines,
  valuesOf,
} from '../../../services/reactors/notify/message/template.js';
import { failure, messageTo, templates } from './sample-message.js';

const values = valuesOf(failure, templates.link);

describe('a template', () => {
  it.each([
    ['{{ project }}/{{domain}}/{{ name }}', 'shop/production/a1b2'],
    ['{{ phase }}', 'failed'],
    ['Ended.{{ error }}', 'Ended. The execution failed with error: [no such file].'],
    ['Ended.{{ failing_node }}', 'Ended. The node that failed is n1.'],
    [
      '{{ workflow.project }} {{ workflow.domain }} {{ workflow.name }} {{ workflow.version }}',
      'shop production orders.daily v7',
    ],
    [
      '{{ launch_plan.project }} {{ launch_plan.domain }} {{ launch_plan.name }} {{ launch_plan.version }}',
      'shop production orders.nightly v7',
    ],
    ['{{ duration }}', '1h 30m'],
    ['{{ link }}', 'https://console.example.com/shop/a1b2'],
    ['{{ owner }} {{  name  }} {{ constructor }}', '{{ owner }} {{  name  }} {{ constructor }}'],
  ])('%s is filled as: %s', (template, text) => {
    expect(fillTemplate(template, values)).toBe(text);
  });

  it('does not read what comes from users as a template', () => {
    const content = { ...failure, error: '{{ project }}' };
    expect(fillTemplate('{{ error }}', valuesOf(content, ''))).toContain('[{{ project }}]');
  });

  it('says nothing of an error or a node when there is none', () => {
    expect(
      fillTemplate('{{ error }}{{ failing_node }}', valuesOf({ ...failure, error: '', failingNode: '' }, '')),
    ).toBe('');
  });

  it('encodes values in the link', () => {
    const content = { ...failure, execution: { ...failure.execution, name: 'a/b?"c' } };
    expect(valuesOf(content, templates.link).get('link')).toBe('https://console.example.com/shop/a%2Fb%3F%22c');
  });
});

describe('a message', () => {
  it('has its subject on one line', () => {
    const content = { ...failure, execution: { ...failure.execution, name: 'a\r\nBcc: eve@example.com' } };
    expect(messageTo('ann@example.com', content).subject).toBe('shop/production: a Bcc: eve@example.com has failed');
  });

  it('has one sender, whatever users write', () => {
    const content = { ...failure, execution: { ...failure.execution, project: '"a" <eve@example.com>,\r\nBcc: bo' } };
    expect(messageTo('ann@example.com', content).sender).toBe(
      'flightlog a eve example.com Bcc bo <flightlog@example.com>',
    );
  });

  it('has the link after its body', () => {
    const { text, html } = messageTo('ann@example.com');
    expect(text).toMatch(/\n\nhttps:\/\/console\.example\.com\/shop\/a1b2$/u);
    expect(html).toContain('<a href="https://console.example.com/shop/a1b2">');
  });

  it('says so when it is a repetition', () => {
    const said = 'sent once more';
    const { text, html, slack } = messageTo('ann@example.com', failure, true);
    expect([text, html, slack].map((form) => form.includes(said))).toEqual([true, true, true]);
    expect(messageTo('ann@example.com').text).not.toContain(said);
  });

  it('fills a template of HTML with escaped values', () => {
    const { key } = messageTo('ann@example.com');
    const content = { ...failure, error: '<img src=x onerror="run()">' };
    const { html } = composeMessage({ ...templates, html: '<b>{{ phase }}</b>{{ error }}' }, key, content, {
      isRepeat: false,
      digest: [],
    });
    expect(html).toBe('<b>failed</b> The execution failed with error: [&lt;img src=x onerror=&quot;run()&quot;&gt;].');
  });

  it('has no markup that users have written', () => {
    const hostile = fc.string({ unit: fc.constantFrom('<', '>', '&', '"', "'", 'a', '\n', '!', '@', '{{ name }}') });
    fc.assert(
      fc.property(hostile, (error) => {
        const { html, slack } = messageTo('ann@example.com', { ...failure, error, failingNode: error });
        const tags = html.match(/<[^>]*>?/gu) ?? [];
        expect(tags.filter((tag) => !/^<(?:\/?p|br|\/?a|a href="https:[^"<>]*")>$/u.test(tag))).toEqual([]);
        expect(slack).not.toMatch(/[<>]/u);
      }),
    );
  });
});

describe('a text in a message', () => {
  it('has at most 10 lines and 2,000 characters of an error', () => {
    expect(firstLines('one\ntwo\n')).toBe('one\ntwo');
    expect(firstLines(Array.from({ length: 12 }, (_, line) => `line ${line}`).join('\n'))).toMatch(/line 9 …$/u);
    expect(firstLines('x'.repeat(5_000))).toHaveLength(2_002);
    expect(firstLines(`x${'🙂'.repeat(5_000)}`)).toMatch(/🙂 …$/u);
  });

  it.each([
    [-5, '0s'],
    [999, '0s'],
    [61_000, '1m 1s'],
    [3_600_000, '1h'],
    [90_061_000, '1d 1h'],
  ])('for a duration of %d ms is %s', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });
});
