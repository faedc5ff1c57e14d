import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.js';
import { DescriptionEntityListSchema } from '../../../proto/gen/platformidl/admin/description_entity_pb.js';
import { TaskListSchema, TaskSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';

beforeEach(() => {
  vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/console/' });
  vi.stubGlobal('window', { addEventListener: () => undefined });
});
afterEach(() => vi.unstubAllGlobals());

const ID = { project: 'p', domain: 'd', name: 'task' };

const answerOf = <Message extends DescMessage>(schema: Message, init: MessageInitShape<Message>, status = 200) =>
  new Response(new Uint8Array(toBinary(schema, create(schema, init))), { status });

/** The newest 100 versions; they are similar to `1.0+a`. */
const tasks = Array.from({ length: 100 }, (_, index) => ({ id: { ...ID, version: `1.0-a${index}` } }));

/** Answers every request of the page with this function. */
const serving = (answer: (path: string, query: URLSearchParams) => Response): void => {
  vi.stubGlobal('fetch', (url: URL) => Promise.resolve(answer(url.pathname, url.searchParams)));
};

/** The versions that a page which shows this version lists besides the newest 100. */
const versionsBesides = async (version: string): Promise<readonly string[]> => {
  const { readVersions } = await import('../../../console/definitions/versions.js');
  const page = await readVersions('tasks', { id: ID, version }, new AbortController().signal);
  return page.versions.slice(100).map((each) => each.version);
};

it('an older version is found by its id, whatever its characters, among any number of similar ones', async () => {
  serving((path) =>
    path.endsWith('/tasks/p/d/task')
      ? answerOf(TaskListSchema, { tasks, token: 'more' })
      : answerOf(TaskSchema, { id: { ...ID, version: decodeURIComponent(path.split('/').at(-1)!) } }),
  );
  expect(await versionsBesides('1.0+a')).toEqual(['1.0+a']);
  expect(await versionsBesides('1.0-a7')).toEqual([]); // among the newest
});

it('a version that does not exist is left out', async () => {
  serving(
    (path) =>
      path.endsWith('/tasks/p/d/task')
        ? answerOf(TaskListSchema, { tasks, token: 'more' })
        : answerOf(StatusSchema, { code: 5, message: 'no such task' }, 404), // NOT_FOUND
  );
  expect(await versionsBesides('1.0+a')).toEqual([]);
});

it('the description of a version is found on a later page', async () => {
  const similar = tasks.map(({ id }) => ({ id }));
  serving((_, query) =>
    query.get('token') === 'more'
      ? answerOf(DescriptionEntityListSchema, { descriptionEntities: [{ id: { ...ID, version: '1.0+a' } }] })
      : answerOf(DescriptionEntityListSchema, { descriptionEntities: similar, token: 'more' }),
  );
  const { readDescription } = await import('../../../console/definitions/read-description.js');
  const { signal } = new AbortController();
  expect((await readDescription('tasks', { id: ID, version: '1.0+a' }, signal))?.id?.version).toBe('1.0+a');
  serving(() => answerOf(DescriptionEntityListSchema, { descriptionEntities: similar }));
  expect(await readDescription('tasks', { id: ID, version: '1.0+a' }, signal)).toBeNull();
});
