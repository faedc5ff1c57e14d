import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { ReactNode } from 'react';

import { ScheduleService, type ScheduleStatus } from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { Confirm, type Question } from '../look/confirm.js';
import { localText, msOf } from '../look/times.js';
import { useAct } from '../server/act.js';
import type { Named } from '../server/ids.js';
import { useMay } from '../server/permissions.js';

const { fireSchedule, pauseSchedule, resumeSchedule, skipTick } = ScheduleService.method;

type OfPlan = { readonly id: Named };

const Fire = ({ id }: OfPlan): ReactNode => {
  const act = useAct(id);
  return (
    <Confirm
      subject={id}
      question={({ name }) => ({
        action: 'Fire now',
        title: `Fire ${name} now`,
        consequence:
          'An execution of the active version starts, as if it had a tick at this second. This cannot be undone; the execution can be terminated.',
      })}
      act={(plan) => act(fireSchedule, plan)}
    />
  );
};

const Skip = ({ id, at }: OfPlan & { readonly at: Timestamp }): ReactNode => {
  const act = useAct(id);
  return (
    <Confirm
      subject={{ ...id, at }}
      question={(tick) => ({
        action: 'Skip next',
        title: `Skip the next tick of ${tick.name}`,
        consequence: `No execution starts at ${localText(msOf(tick.at) ?? 0)}; the ticks after it fire. This cannot be undone.`,
        isDanger: true,
      })}
      act={(tick) => act(skipTick, tick)}
    />
  );
};

type Pausable = OfPlan & { readonly isPaused: boolean };

const questionOf = ({ id: { name }, isPaused }: Pausable): Question =>
  isPaused
    ? {
        action: 'Resume',
        title: `Resume the schedule of ${name}`,
        consequence: 'Its ticks from now on fire. Those that were skipped meanwhile are not made up for.',
      }
    : {
        action: 'Pause',
        title: `Pause the schedule of ${name}`,
        consequence: 'Its ticks are skipped until it is resumed. Skipped ticks are not made up for.',
      };

/** Pauses a schedule, or resumes it. One button does both, so that it keeps the focus. */
const Pause = (schedule: Pausable): ReactNode => {
  const act = useAct(schedule.id);
  return (
    <Confirm
      subject={schedule}
      question={questionOf}
      act={({ id, isPaused }) => (isPaused ? act(resumeSchedule, id) : act(pauseSchedule, id))}
    />
  );
};

type ScheduleActionsProps = OfPlan & { readonly schedule: ScheduleStatus };

/** The actions on a schedule that the person may take; to skip a tick there must be a next one. */
export const ScheduleActions = ({ id, schedule }: ScheduleActionsProps): ReactNode => {
  const [mayFire, mayTurn] = [useMay('execute', id), useMay('register', id)];
  const [next] = schedule.next;
  return (
    <div className="beside">
      {mayFire && <Fire id={id} />}
      {mayTurn && next && <Skip id={id} at={next} />}
      {mayTurn && <Pause id={id} isPaused={schedule.paused} />}
    </div>
  );
};
