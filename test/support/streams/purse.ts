import type { Aggregate, Decision } from '../../../services/kernel/aggregate.js';
import type { Content } from '../../../services/kernel/ports/payload-store.js';

// A sample aggregate, a purse: coins are added and spent one by one, and it holds at most ten. A note has a content of
// any size. The command `count` is decided after the recorded events were read.

type Coin = { readonly kind: 'coin' };
type Note = { readonly kind: 'note'; readonly text: Content };
type Spent = { readonly kind: 'spent' };
/** The number of coins that fill a purse. */
const CAPACITY = 10;
/** The events of a purse: a coin was added, a coin was spent, a note was written. */
export type PurseEvent = Coin | Spent | Note;
/** The commands to a purse; `counted` is set once the recorded events were read. */
export type PurseCommand =
  | { readonly kind: 'add' }
  | { readonly kind: 'spend' }
  | { readonly kind: 'write'; readonly bytes: Uint8Array }
  | { readonly kind: 'count'; readonly counted?: number };
/** The purse is full; or it was counted, because `count` is answered by a refusal. */
export type PurseRefusal = { readonly kind: 'full' } | { readonly kind: 'counted'; readonly coins: number };
/** The state of a purse: the number of its coins. */
export type Purse = { coins: number };

export const decidePurse = ({ coins }: Purse, command: PurseCommand): Decision<PurseEvent, PurseRefusal> => {
  if (command.kind === 'write') {
    return {
      kind: 'accepted',
      events: [{ kind: 'note', text: { content: { case: 'inline', value: command.bytes } } }],
    };
  }
  if (command.kind === 'count') {
    // A counted purse has only coin events, so their revisions are 0 to `coins - 1`.
    if (command.counted === undefined)
      return { kind: 'unsure', at: Array.from({ length: coins }, (_, at) => BigInt(at)) };
    return { kind: 'refused', refusal: { kind: 'counted', coins: command.counted } };
  }
  if (command.kind === 'spend') return { kind: 'accepted', events: coins > 0 ? [{ kind: 'spent' }] : [] };
  return coins < CAPACITY
    ? { kind: 'accepted', events: [{ kind: 'coin' }] }
    : { kind: 'refused', refusal: { kind: 'full' } };
};

export const purse: Aggregate<Purse, PurseCommand, PurseEvent, PurseRefusal> = {
  category: 'purse',
  decider: {
    initial: () => ({ coins: 0 }),
    evolve: (state, event) => {
      if (event.kind === 'coin') state.coins += 1;
      if (event.kind === 'spent') state.coins -= 1;
      return state;
    },
    decide: decidePurse,
  },
  codec: {
    encode: (event) =>
      event.kind === 'note'
        ? { type: 'NoteWritten', data: Buffer.from(event.text.content.case ?? 'none') }
        : { type: event.kind === 'coin' ? 'CoinAdded' : 'CoinSpent', data: new Uint8Array() },
    decode: (type) => {
      if (type === 'NoteWritten') return { kind: 'note', text: { content: { case: undefined } } };
      return { kind: type === 'CoinAdded' ? 'coin' : 'spent' };
    },
    contents: (event) => (event.kind === 'note' ? [event.text] : []),
  },
  payloadScope: () => 'purses',
  isPermanentRefusal: ({ kind }) => kind === 'counted',
  sizeOf: () => 100, // bytes of memory for a state, an estimate
  compareWithRecorded: (command, past) =>
    Promise.resolve({ ...command, counted: past.filter(({ type }) => type === 'CoinAdded').length }),
};
