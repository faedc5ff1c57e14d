import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

import { followStream } from './event-stream.js';
import { serverAddress } from './root.js';
import type { Scope } from './ids.js';
import { type Refresh, settling } from './settling.js';
import { whileVisible } from './while-visible.js';

/** The part of the log that a page follows: everything, a project, a domain of it, or one execution. */
export type Followed = Partial<Scope> & { readonly name?: string };

const addressOf = ({ project, domain, name }: Followed): URL => {
  const url = serverAddress('/api/v1/tail');
  const given = Object.entries({ from: 'now', project, domain, name });
  for (const [key, value] of given) if (value !== undefined) url.searchParams.set(key, value);
  return url;
};

/** The listeners of a page that also reads the events that it follows. */
export type LiveListener = {
  readonly event: (message: MessageEvent<string>) => void;
  /** The stream was opened: events before now may have been missed. */
  readonly opened: () => void;
};

/** Opens the stream, and refreshes after it has opened, after events have come, and after it was given up. */
const follow = (followed: Followed, refresh: Refresh, listener?: LiveListener): (() => void) => {
  const { changed, stop } = settling(refresh);
  let wasLost = false;
  const close = followStream(addressOf(followed), {
    event: (message) => {
      listener?.event(message);
      changed();
    },
    open: () => {
      listener?.opened();
      if (wasLost) void refresh();
      // The stream begins now: it has no events that were recorded since the page has read what it shows.
      else changed();
      wasLost = false;
    },
    lost: () => {
      wasLost = true;
    },
    givenUp: () => {
      wasLost = true;
      changed(); // the reads of the page find out why
    },
  });
  return () => {
    stop();
    close();
  };
};

/** Follows while the page is looked at, and refreshes at once when it is looked at again. */
const followWhileVisible = (followed: Followed, refresh: Refresh, listener?: LiveListener): (() => void) => {
  let isAgain = false;
  return whileVisible(() => {
    if (isAgain) void refresh();
    isAgain = true;
    return follow(followed, refresh, listener);
  });
};

/** Reads again what the view shows when events of it are recorded: the log is followed, lists are not polled. */
export const useLive = ({ project, domain, name }: Followed, listener?: LiveListener): void => {
  const client = useQueryClient();
  useEffect(
    () =>
      followWhileVisible(
        {
          ...(project !== undefined && { project }),
          ...(domain !== undefined && { domain }),
          ...(name !== undefined && { name }),
        },
        () => client.invalidateQueries({ predicate: ({ meta }) => meta?.['fixed'] !== true }),
        listener,
      ),
    [client, project, domain, name, listener],
  );
};
