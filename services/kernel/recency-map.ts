/** An entry of a {@link RecencyMap} and its neighbours, which the map alone changes. */
type Entry<Key, Value> = {
  readonly key: Key;
  value: Value;
  older: Entry<Key, Value> | undefined;
  newer: Entry<Key, Value> | undefined;
};

/**
 * A map that knows which of its entries was used longest ago. No call takes longer when there are more entries.
 *
 * A `Map` keeps an order as well, the order of insertion. To take its first entry, though, V8 steps over the entries
 * deleted before it, up to as many as the map has: 25 µs and more with 50,000 entries.
 */
export class RecencyMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  #oldest: Entry<Key, Value> | undefined;
  #newest: Entry<Key, Value> | undefined;

  get size(): number {
    return this.#entries.size;
  }

  /** The value of a key. The call does not count as a use. */
  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** The value of a key, which becomes the most recently used. */
  use(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#unlink(entry);
    this.#append(entry);
    return entry.value;
  }

  /** Sets the value of a key, which becomes the most recently used. */
  set(key: Key, value: Value): void {
    const known = this.#entries.get(key);
    if (known) this.#unlink(known);
    const entry = known ?? { key, value, older: undefined, newer: undefined };
    if (!known) this.#entries.set(key, entry);
    entry.value = value;
    this.#append(entry);
  }

  /** @returns false when there was no such key. */
  delete(key: Key): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#entries.delete(key);
    this.#unlink(entry);
    return true;
  }

  /** The least recently used entry. */
  oldest(): { readonly key: Key; readonly value: Value } | undefined {
    return this.#oldest;
  }

  /** The keys, the least recently used first; the map must not change meanwhile. */
  *keys(): Iterable<Key> {
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer) yield entry.key;
  }

  #append(entry: Entry<Key, Value>): void {
    entry.older = this.#newest;
    if (this.#newest) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
  }

  #unlink(entry: Entry<Key, Value>): void {
    const { older, newer } = entry;
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
    entry.older = undefined;
    entry.newer = undefined;
  }
}
