import { get } from 'node:http';

/** Order for the followers, a process of its own: to read Server-Sent Events, and to report when so many have come. */
export type FollowOrder = { readonly urls: readonly string[] } | { readonly expected: number };

/** The events that all followers together have received since the last report. */
export type Followed = {
  readonly events: number;
  /** From the time at which the control plane recorded an event until it was here: more than from its answer on. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Events that did not come after the one before them on their connection. */
  readonly outOfOrder: number;
};

const ID = /^id: (\d+)\n/u;
const RECORDED_AT = /"recordedAt":"([^"]+)"/u;

let samples: number[] = [];
let outOfOrder = 0;

/** Reads one connection; `onFirst` is called when something has come. */
const follow = (url: string, onFirst: () => void): void => {
  const request = get(url, { agent: false }, (response) => {
    let text = '';
    let last = 0;
    response.setEncoding('utf8');
    response.once('data', onFirst);
    response.on('data', (chunk: string) => {
      const now = Date.now();
      const blocks = (text + chunk).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        if (!block.includes('event: change\n') && !block.includes('event: event\n')) continue;
        const position = Number(ID.exec(block)?.[1]);
        if (position <= last) outOfOrder += 1;
        last = position;
        samples.push(now - Date.parse(RECORDED_AT.exec(block)?.[1] ?? ''));
      }
    });
  });
  request.on('error', (error) => {
    throw error;
  });
};

const report = (): Followed => {
  const sorted = Float64Array.from(samples).sort();
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
  const followed = { events: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), outOfOrder };
  samples = [];
  outOfOrder = 0;
  return followed;
};

const followAll = (urls: readonly string[]): void => {
  let left = urls.length;
  const onFirst = (): void => {
    left -= 1;
    if (left === 0) process.send?.('ready');
  };
  for (const url of urls) follow(url, onFirst);
};

const reportAt = (expected: number): void => {
  const timer = setInterval(() => {
    if (samples.length < expected) return;
    clearInterval(timer);
    process.send?.(report());
  }, 10);
};

process.on('message', (order: FollowOrder) => {
  if ('urls' in order) followAll(order.urls);
  else reportAt(order.expected);
});
