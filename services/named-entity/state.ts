import { NamedEntityState as State } from '../../proto/gen/platformidl/admin/common_pb.js';
import type { NamedEntityEvent } from './events.js';

/** What is noted of a name; of one that nobody has noted anything of, that it is active. */
export type NamedEntityNotes = { readonly description: string; readonly state: State };

export const initialNotes = (): NamedEntityNotes => ({ description: '', state: State.NAMED_ENTITY_ACTIVE });

export const evolveNotes = (_notes: NamedEntityNotes, { data }: NamedEntityEvent): NamedEntityNotes => {
  const { description, state } = data.metadata ?? initialNotes();
  return { description, state };
};
