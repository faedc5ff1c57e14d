/** The limits of a channel. */
export type Limits = {
  /** Attempts per minute; a tenth of them, but at least one, may begin at once. */
  readonly maxPerMinute: number;
  /** Attempts at a time. */
  readonly maxConcurrent: number;
};

/** Permission for one attempt, or when to ask again, in milliseconds since 1970. */
export type AttemptPermit = { readonly kind: 'granted' } | { readonly kind: 'later'; readonly atMs: number };

/** Time in milliseconds after which a channel that is busy is asked again. */
const BUSY_MS = 200;

/** The limit of one channel. */
export interface ChannelLimit {
  /** Every grant is to be given back by `release` after the attempt. */
  take(nowMs: number): AttemptPermit;
  release(): void;
}

/**
 * Limits the attempts of a channel, so that one that is slow or flooded holds up no other. The rate is that of the
 * generic cell rate algorithm: `dueMs` is when the next attempt would be due if all were spread evenly.
 */
export const channelLimit = ({ maxPerMinute, maxConcurrent }: Limits): ChannelLimit => {
  const everyMs = 60_000 / maxPerMinute;
  const burstMs = everyMs * Math.max(0, Math.floor(maxPerMinute / 10) - 1);
  let dueMs = 0;
  let running = 0;
  return {
    take: (nowMs) => {
      if (running >= maxConcurrent) return { kind: 'later', atMs: nowMs + BUSY_MS };
      dueMs = Math.min(dueMs, nowMs + burstMs + everyMs); // later only where the clock was set back
      if (nowMs < dueMs - burstMs) return { kind: 'later', atMs: Math.ceil(dueMs - burstMs) };
      dueMs = Math.max(nowMs, dueMs) + everyMs;
      running += 1;
      return { kind: 'granted' };
    },
    release: () => {
      running -= 1;
    },
  };
};
