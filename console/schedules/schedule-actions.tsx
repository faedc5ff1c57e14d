import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { ReactNode } from 'react';

import { ScheduleService, type ScheduleStatus } from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { Confirm } from '../look/confirm.js';
import { localText, msOf } from '../look/times.js';
import { useAct } from '../server/act.js';
import type { Named } from '../server/ids.js';
import { useMay } from '../server/permissions.js';

const { fireSchedule, pauseSchedule, resumeSchedule, skipTick } = ScheduleService.method;

type OfPlan = { readonly id: Named };

const Fire = ({ id }: OfPlan): ReactNode => {
  const act = useAct();
  return (
    <Confirm
      action="Fire now"
      title={`Fire ${id.name} now`}
      consequence="An execution of the active version starts, as if it had a tick at this second. This cannot be undone; the execution can be terminated."
      act={() => act(fireSchedule, id)}
    />
  );
};

const Skip = ({ id, at }: OfPlan & { readonly at: Timestamp }): ReactNode => {
  const act = useAct();
  return (
    <Confirm
      action="Skip next"
      title={`Skip the next tick of ${id.name}`}
      consequence={`No execution starts at ${localText(msOf(at) ?? 0)}; the ticks after it fire. This cannot be undone.`}
      isDanger
      act={() => act(skipTick, { ...id, at })}
    />
  );
};

const Pause = ({ id }: OfPlan): ReactNode => {
  const act = useAct();
  return (
    <Confirm
      action="Pause"
      title={`Pause the schedule of ${id.name}`}
      consequence="Its ticks are skipped until it is resumed. Skipped ticks are not made up for."
      act={() => act(pauseSchedule, id)}
    />
  );
};

const Resume = ({ id }: OfPlan): ReactNode => {
  const act = useAct();
  return (
    <Confirm
      action="Resume"
      title={`Resume the schedule of ${id.name}`}
      consequence="Its ticks from now on fire. Those that were skipped meanwhile are not made up for."
      act={() => act(resumeSchedule, id)}
    />
  );
};

type ScheduleActionsProps = OfPlan & { readonly schedule: ScheduleStatus };

/** The actions that a schedule allows. */
export const ScheduleActions = ({ id, schedule }: ScheduleActionsProps): ReactNode => {
  const [mayFire, mayTurn] = [useMay('execute', id), useMay('register', id)];
  const [next] = schedule.next;
  return (
    <div className="beside">
      {mayFire && <Fire id={id} />}
      {mayTurn && next && <Skip id={id} at={next} />}
      {mayTurn && (schedule.paused ? <Resume id={id} /> : <Pause id={id} />)}
    </div>
  );
};
