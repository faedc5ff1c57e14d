import { StringValueSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import { loadedBytes, loadedMessage } from '../../../projections/runtime/decoded.js';
import type { SeenEvent } from '../../../projections/runtime/read-model.js';
import { readModel, type TypedReadModel } from '../../../projections/runtime/typed-read-model.js';
import { CorruptEvent } from '../../../services/kernel/fault.js';
import type { Content } from '../../../services/kernel/ports/payload-store.js';

type Opened = { readonly type: 'AccountOpened'; readonly data: { readonly owner: string } };
type Paid = { readonly type: 'AccountPaid'; readonly data: { readonly amount: number; readonly to: string } };
type Account = { readonly owner: string; readonly paid: number };

const stored: Pick<TypedReadModel<Account, Opened>, 'collection' | 'encode' | 'decode'> = {
  collection: { name: 'accounts', version: 1, fields: {}, indexes: [] },
  encode: () => ({ fields: {}, response: new Uint8Array() }),
  decode: () => ({ owner: '', paid: 0 }),
};

const accounts = readModel<Account, Opened | Paid>({
  ...stored,
  formerTypes: ['AccountChanged'],
  handlers: {
    AccountOpened: { fold: (_, { body }) => ({ owner: body.data.owner, paid: 0 }) },
    AccountPaid: {
      touches: ({ body, stream }) => [stream, body.data.to],
      fold: (document, { body }) => document && { ...document, paid: document.paid + body.data.amount },
    },
  },
});

const seen = (type: string, body: Opened | Paid | { readonly type: string }): SeenEvent => ({
  type,
  body,
  stream: 'account-1' as SeenEvent['stream'],
  revision: 0n,
  position: 1n,
  metadata: {} as SeenEvent['metadata'],
});
const opened = seen('AccountOpened', { type: 'AccountOpened', data: { owner: 'ann' } });
const paid = seen('AccountChanged', { type: 'AccountPaid', data: { amount: 3, to: 'account-2' } });

describe('a read model of typed handlers', () => {
  it('follows the events that it handles, also under the types of earlier formats', () => {
    expect(accounts.follows).toEqual(['AccountOpened', 'AccountPaid', 'AccountChanged']);
  });

  it('touches the stream of an event, or what the handler names', () => {
    expect(accounts.touches(opened)).toEqual(['account-1']);
    expect(accounts.touches(paid)).toEqual(['account-1', 'account-2']);
  });

  it('folds by the type of the decoded event, which the stored type may differ from', () => {
    const account = accounts.fold(undefined, opened, 'account-1');
    expect(accounts.fold(account, paid, 'account-1')).toEqual({ owner: 'ann', paid: 3 });
  });

  it('ignores what it has no handler for', () => {
    const closed = seen('AccountClosed', { type: 'AccountClosed' });
    expect(accounts.touches(closed)).toEqual([]);
    expect(accounts.fold({ owner: 'ann', paid: 0 }, closed, 'account-1')).toBeUndefined();
  });

  it('does not compile without a handler for one of its events', () => {
    const opens = { fold: () => undefined };
    // @ts-expect-error AccountPaid has no handler
    expect(readModel<Account, Opened | Paid>({ ...stored, handlers: { AccountOpened: opens } }).follows).toHaveLength(
      1,
    );
  });
});

describe('a content of an event', () => {
  const inline = (value: Uint8Array): Content => ({ content: { case: 'inline', value } });
  const failureOf = (read: () => unknown): unknown => {
    try {
      return read();
    } catch (error) {
      return error;
    }
  };

  it('is decoded once for all read models', () => {
    const content = inline(Uint8Array.of(0x0a, 1, 0x61)); // field 1, one byte, the letter a
    expect(loadedMessage(StringValueSchema, content).value).toBe('a');
    expect(loadedMessage(StringValueSchema, content)).toBe(loadedMessage(StringValueSchema, content));
  });

  it('that is not loaded, or cannot be decoded, makes the event corrupt', () => {
    const away: Content = { content: { case: 'ref', value: { scope: '', sha256: '', sizeBytes: 1n, keyId: '' } } };
    const notLoaded = failureOf(() => loadedMessage(StringValueSchema, away));
    for (const error of [notLoaded, failureOf(() => loadedBytes(undefined))]) {
      expect(error).toBeInstanceOf(CorruptEvent);
      expect((error as Error).message).toBe('a large content of the event is not loaded');
    }
    const truncated = Uint8Array.of(0x0a, 9); // field 1 with nine bytes, which are not there
    const notDecoded = failureOf(() => loadedMessage(StringValueSchema, inline(truncated)));
    expect(notDecoded).toBeInstanceOf(CorruptEvent);
    expect(notDecoded).toMatchObject({
      message: 'a content of the event cannot be decoded',
      cause: { name: 'RangeError' },
    });
  });
});
