import type { Outgoing } from './message.js';

type Row = readonly [
  valueBytes: number,
  category: number,
  key: number,
  type: number,
  contentType: number,
  id: string,
  position: bigint,
  recordedAtMs: number,
];

/**
 * Messages packed for another thread, at a fraction of the cost of copying each: their values share one buffer that is
 * transferred, and repeated texts are stored once.
 */
export type PackedMessages = {
  readonly values: Uint8Array<ArrayBuffer>;
  readonly texts: readonly string[];
  /** The numbers in a row that stand for texts are indices into `texts`. */
  readonly rows: readonly Row[];
};

/** Assigns each text a number: its index in `texts`. */
const numbering = () => {
  const numbers = new Map<string, number>();
  const numberOf = (text: string): number => {
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  };
  return { numberOf, texts: () => [...numbers.keys()] };
};

const inOnePiece = (messages: readonly Outgoing[]): Uint8Array<ArrayBuffer> => {
  const values = new Uint8Array(messages.reduce((sum, { value }) => sum + value.length, 0));
  let at = 0;
  for (const { value } of messages) {
    values.set(value, at);
    at += value.length;
  }
  return values;
};

/** Packs messages for transfer to another thread. */
export const packedMessages = (messages: readonly Outgoing[]): PackedMessages => {
  const { numberOf, texts } = numbering();
  const row = ({ category, key, value, type, contentType, id, position, recordedAtMs }: Outgoing): Row => [
    value.length,
    numberOf(category),
    numberOf(key.toString()),
    numberOf(type),
    numberOf(contentType),
    id,
    position,
    recordedAtMs,
  ];
  return { values: inOnePiece(messages), rows: messages.map(row), texts: texts() };
};

/** Unpacks messages; equal to those that were packed. */
export const unpacked = ({ values, texts, rows }: PackedMessages): Outgoing[] => {
  const textOf = (number: number): string => texts[number] ?? '';
  const keys = new Map<number, Buffer>();
  const keyOf = (number: number): Buffer => {
    const key = keys.get(number) ?? Buffer.from(textOf(number));
    keys.set(number, key);
    return key;
  };
  let at = 0;
  return rows.map(([valueBytes, category, key, type, contentType, id, position, recordedAtMs]) => {
    const value = Buffer.from(values.buffer, at, valueBytes);
    at += valueBytes;
    return {
      category: textOf(category),
      key: keyOf(key),
      value,
      type: textOf(type),
      contentType: textOf(contentType),
      id,
      position,
      recordedAtMs,
    };
  });
};
