import { create } from '@bufbuild/protobuf';

import { InactiveProjectSchema, Project_ProjectState as State } from '../../proto/gen/platformidl/admin/project_pb.js';
import { RpcError } from '../kernel/rpc.js';
import type { Acknowledged, Folded } from '../kernel/ports/sessions.js';
import type { StreamName } from '../kernel/stream.js';
import type { OnParked } from '../kernel/log-readers/parkable-fold.js';
import { PROJECT_CATEGORY, projectCodec, projectStream } from '../project/events.js';
import { evolveProject, initialProject, type ProjectState } from '../project/state.js';
import { type FoldedStreams, foldedStreams, type LogFollower } from './live-folds.js';

/** The status of a project and domain: versions can be registered and executions launched only where it is `active`. */
export type ProjectStatus =
  | {
      readonly kind: 'active';
      readonly labels: Readonly<Record<string, string>>;
      /** The project's stream and the revision that the status was read at; recorded with each execution. */
      readonly read: { readonly stream: StreamName; readonly revision: bigint };
    }
  | { readonly kind: 'unknown-project' | 'unknown-domain' | 'inactive' };

/**
 * The projects and domains of this control plane.
 *
 * @throws {StreamParked} from each method, when the project's stream has an event that this release cannot read.
 * @throws {Fault} from each method, when the project's stream has to be read and cannot be.
 */
export interface ProjectDirectory {
  /** The status of a project and domain. */
  statusOf(project: string, domain: string): Promise<ProjectStatus>;
  /** The error for a request to this project and domain; `undefined` when they are active. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
  /** The state of a project, whatever the domain. */
  lifecycle(project: string): Promise<'active' | 'inactive' | 'unknown-project'>;
}

export type ProjectDirectoryOptions = {
  readonly fold: FoldedStreams<ProjectState>;
  readonly following: Pick<LogFollower, 'hasReached'>;
  readonly domains: readonly { readonly id: string }[];
  readonly acknowledged: Pick<Acknowledged, 'ofStream'>;
  /** Reads the project's own stream, which is always current and costs more. */
  readonly readProject: (stream: StreamName) => Promise<Folded<ProjectState>>;
};

/** Makes the fold of all projects; it is empty until `followFolds` feeds it. */
export const projectFold = (onParked?: OnParked): FoldedStreams<ProjectState> =>
  foldedStreams(
    {
      category: PROJECT_CATEGORY,
      codec: projectCodec,
      initial: initialProject,
      evolve: evolveProject,
    },
    onParked,
  );

/** Texts keep FlyteAdmin's words, because clients may look for them. */
const ERRORS: Readonly<
  Record<Exclude<ProjectStatus['kind'], 'active'>, (project: string, domain: string) => RpcError>
> = {
  'unknown-project': (project, domain) =>
    new RpcError(
      'INVALID_ARGUMENT',
      `failed to validate that project [${project}] and domain [${domain}] are registered, ` +
        `err: [project [${project}] not found]`,
    ),
  'unknown-domain': (_project, domain) =>
    new RpcError('INVALID_ARGUMENT', `domain [${domain}] is unrecognized by system`),
  inactive: (project) => {
    const message = create(InactiveProjectSchema, { id: project });
    return new RpcError('INVALID_ARGUMENT', `project [${project}] is not active`, [
      { schema: InactiveProjectSchema, message },
    ]);
  },
};

const isActive = ({ project }: ProjectState): boolean => project?.state === State.ACTIVE;

/**
 * Makes the directory of the projects, folded live. Reads include all events that were recorded at the start, or that
 * this process has acknowledged: when the fold is behind, the project's own stream is read. It is read too when the
 * project is not active in the fold, so that a project which another process has just registered or activated is not
 * refused.
 */
export const projectDirectory = (options: ProjectDirectoryOptions): ProjectDirectory => {
  const { entries } = options.fold;
  const { following, acknowledged } = options;
  const domains = new Set(options.domains.map(({ id }) => id));

  const read = async (stream: StreamName): Promise<Folded<ProjectState>> => {
    options.fold.assertReadable(stream);
    const entry = entries.get(stream);
    const isCurrent =
      following.hasReached(0n) && entry !== undefined && entry.position >= (acknowledged.ofStream(stream) ?? 0n);
    return isCurrent && isActive(entry.state) ? entry : options.readProject(stream);
  };

  const lifecycle: ProjectDirectory['lifecycle'] = async (id) => {
    const { state } = await read(projectStream(id));
    if (state.project === undefined) return 'unknown-project';
    return isActive(state) ? 'active' : 'inactive';
  };

  const statusOf = async (id: string, domain: string): Promise<ProjectStatus> => {
    const stream = projectStream(id);
    const { state, revision } = await read(stream);
    if (state.project === undefined) return { kind: 'unknown-project' };
    if (!isActive(state)) return { kind: 'inactive' };
    if (!domains.has(domain)) return { kind: 'unknown-domain' };
    return { kind: 'active', labels: state.project.labels?.values ?? {}, read: { stream, revision } };
  };

  return {
    statusOf,
    check: async (project, domain) => {
      const { kind } = await statusOf(project, domain);
      return kind === 'active' ? undefined : ERRORS[kind](project, domain);
    },
    lifecycle,
  };
};
