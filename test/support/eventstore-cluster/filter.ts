import type { ReadReq_Options_FilterOptions as FilterOptions } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { Stored } from './log-file.js';
import { invalidArgument } from './refusals.js';

/** The filter of a reader, and the number of events examined after which it gets a checkpoint. */
export type Filter = { readonly matches: (event: Stored) => boolean; readonly checkpointEvery: number };

/** The window of a client that names none; a checkpoint comes after as many windows as the client says. */
const DEFAULT_WINDOW = 32;

/** Reads the filter of a read. @throws when it has none. */
export const filterOf = ({ filter, window, checkpointIntervalMultiplier }: FilterOptions): Filter => {
  if (filter.case === undefined) throw invalidArgument('a filter is needed');
  const { regex, prefix } = filter.value;
  const pattern = regex === '' ? undefined : new RegExp(regex);
  const fits = (text: string): boolean => pattern?.test(text) ?? prefix.some((each) => text.startsWith(each));
  const isByType = filter.case === 'eventType';
  return {
    matches: ({ type, stream }) => fits(isByType ? type : stream),
    checkpointEvery: (window.case === 'max' ? window.value : DEFAULT_WINDOW) * checkpointIntervalMultiplier,
  };
};
