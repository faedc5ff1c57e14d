import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { askForSecret, askOnTerminal } from '../../../services/cli/question.js';

afterEach(() => vi.restoreAllMocks());

/** Answers the next question with these keys, and collects what is shown. */
const typing = (keys: string): { readonly shown: () => string } => {
  const keyboard = new PassThrough();
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(keyboard as never);
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  keyboard.write(keys);
  return { shown: () => write.mock.calls.map(([text]) => String(text)).join('') };
};

describe.each([
  ['a question', askOnTerminal],
  ['a question for a secret', askForSecret],
])('%s', (_, ask) => {
  it('is answered by a line', async () => {
    const { shown } = typing('yes\r');
    expect(await ask('Sure? ')).toBe('yes');
    expect(shown()).toContain('Sure? ');
    expect(shown().includes('yes')).toBe(ask === askOnTerminal);
  });

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('is cancelled by %s, with an error of one line', async (_name, key) => {
    typing(key);
    await expect(ask('Sure? ')).rejects.toThrow(/^stopped: the question was not answered$/u);
  });
});
