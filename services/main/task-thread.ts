import { parentPort, workerData } from 'node:worker_threads';
import { toBinary } from '@bufbuild/protobuf';
import { DescriptionEntitySchema } from '../../proto/gen/platformidl/admin/description_entity_pb.js';
import { TaskCreateRequestSchema } from '../../proto/gen/platformidl/admin/task_pb.js';
import { decode } from '../gateway/decode.js';
import { registrationOf, type TaskTypes } from '../task/registration/task.js';
import type { LargeTask, LargeTaskRegistration } from './large-tasks.js';
import { answerTo, type Asked } from './thread-caller.js';

// Compiles large tasks, one after another.
const taskTypes = workerData as TaskTypes;

const registered = ({ id, request, limits }: LargeTask): LargeTaskRegistration => {
  const { description, ...rest } = registrationOf(id, decode(TaskCreateRequestSchema, request), { taskTypes, limits });
  return { ...rest, description: description && toBinary(DescriptionEntitySchema, description) };
};

parentPort?.on('message', (asked: Asked<LargeTask>) => {
  void answerTo(asked, registered).then((answered) => parentPort?.postMessage(answered));
});
