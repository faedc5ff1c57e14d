import type { EventStore } from '../kernel/ports/event-store.js';
import type { ParkedStreams } from '../kernel/log-readers/parked-streams.js';
import type { Acknowledged, Sessions } from '../kernel/ports/sessions.js';
import { attributesAggregate } from '../attributes/decider.js';
import { projectAggregate } from '../project/decider.js';
import { followFolds, type LogFollower } from '../reference/live-folds.js';
import { projectDirectory, type ProjectDirectory, projectFold } from '../reference/project-directory.js';
import { roleBindingFold, type RoleBindings, roleBindings } from '../reference/role-bindings.js';
import { attributesFold, recordedAttributes, type RecordedAttributes } from '../reference/recorded-attributes.js';
import type { Configuration } from '../config/configuration.js';

/** The state of other streams that commands need, folded live over one subscription. */
export type Reference = {
  readonly following: LogFollower;
  readonly projects: ProjectDirectory;
  readonly attributes: RecordedAttributes;
  readonly bindings: RoleBindings;
};

export type ReferenceServices = {
  readonly configuration: Pick<Configuration, 'domains'>;
  readonly store: EventStore;
  readonly sessions: Sessions & { readonly acknowledged: Acknowledged };
  readonly parked: ParkedStreams;
  /** True when other processes write the log too. */
  readonly isShared?: boolean;
};

/** Opens the reference; the caller closes `following`. */
export const openReference = ({
  configuration,
  store,
  sessions,
  parked,
  isShared = false,
}: ReferenceServices): Reference => {
  const { acknowledged } = sessions;
  const folds = {
    projects: projectFold(parked.note),
    attributes: attributesFold(parked.note),
    bindings: roleBindingFold(parked.note),
  };
  // A subscription to an event store brings every position; one to the embedded log is not always woken for events that
  // its filter leaves out.
  const following = followFolds(store, Object.values(folds), { advancesOverAll: isShared });
  for (const fold of Object.values(folds)) parked.onResuming((stream) => fold.resume(stream, store));
  return {
    following,
    bindings: roleBindings({ fold: folds.bindings, following, acknowledged }),
    projects: projectDirectory({
      fold: folds.projects,
      following,
      domains: configuration.domains,
      acknowledged,
      readProject: (stream) => sessions.read(projectAggregate, stream, (folded) => folded),
    }),
    attributes: recordedAttributes({
      fold: folds.attributes,
      following,
      acknowledged,
      readStream: (stream) =>
        sessions.read(attributesAggregate, stream, ({ state: { rows, bytes }, ...folded }) => ({
          ...folded,
          state: { rows: new Map(rows), bytes },
        })),
    }),
  };
};
