import { create, fromJson, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ScheduleSchema } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { ParameterMapSchema, VariableMapSchema } from '../../../proto/gen/platformidl/core/interface_pb.js';
import {
  LaunchPlanActivatedSchema,
  LaunchPlanDeactivatedSchema,
  LaunchPlanRegisteredSchema,
} from '../../../proto/gen/platformidl/eventlog/launch_plan_pb.js';
import { UnknownEvent } from '../../../services/kernel/fault.js';
import { encodedField } from '../../../services/kernel/encoding/field-bytes.js';
import type { LaunchPlanCommand } from '../../../services/launch-plan/commands.js';
import { launchPlanAggregate, launchPlanDecider } from '../../../services/launch-plan/decider.js';
import { launchPlanCodec, type LaunchPlanEvent } from '../../../services/launch-plan/events.js';
import { given } from '../../support/streams/given.js';

const idOf = (version: string) =>
  ({ resourceType: ResourceType.LAUNCH_PLAN, project: 'p', domain: 'd', name: 'n', version }) as const;
const digest = new Uint8Array([1]);
const spec = new Uint8Array([2]);
const expectedInputs = toBinary(ParameterMapSchema, create(ParameterMapSchema, { parameters: { a: {} } }));
const expectedOutputs = toBinary(VariableMapSchema, create(VariableMapSchema, { variables: { b: {} } }));
const hourly = fromJson(ScheduleSchema, { cron_schedule: { schedule: '@hourly' } });

const register = (version: string): LaunchPlanCommand => ({
  type: 'RegisterLaunchPlan',
  id: idOf(version),
  spec,
  expectedInputs,
  expectedOutputs,
  digest,
  limitsConcurrency: false,
});
const activate = (version: string): LaunchPlanCommand => ({
  type: 'ActivateLaunchPlan',
  id: idOf(version),
  schedule: hourly,
});
const deactivate = (version: string): LaunchPlanCommand => ({ type: 'DeactivateLaunchPlan', id: idOf(version) });

const registered = (version: string): LaunchPlanEvent => {
  const data = create(LaunchPlanRegisteredSchema, {
    id: idOf(version),
    spec: { content: { case: 'inline', value: spec } },
    digest,
  });
  const { expectedInputs: inputs, expectedOutputs: outputs } = LaunchPlanRegisteredSchema.field;
  data.$unknown = [encodedField(inputs.number, expectedInputs), encodedField(outputs.number, expectedOutputs)];
  return { type: 'LaunchPlanRegistered', data };
};
const activated = (version: string, deactivatedVersion = ''): LaunchPlanEvent => ({
  type: 'LaunchPlanActivated',
  data: create(LaunchPlanActivatedSchema, { id: idOf(version), deactivatedVersion, schedule: hourly }),
});
const deactivated = (version: string): LaunchPlanEvent => ({
  type: 'LaunchPlanDeactivated',
  data: create(LaunchPlanDeactivatedSchema, { id: idOf(version) }),
});

describe('a launch plan', () => {
  it('is recorded with its expected inputs and outputs, which are encoded already', () => {
    const { data } = launchPlanCodec.encode(registered('1'));
    const { data: read } = launchPlanCodec.decode('LaunchPlanRegistered', data, 1);
    expect(read).toMatchObject({
      expectedInputs: { parameters: { a: {} } },
      expectedOutputs: { variables: { b: {} } },
    });
  });

  it('is registered in versions', () => {
    given(launchPlanDecider).when(register('1')).then(registered('1'));
    given(launchPlanDecider, registered('1')).when(register('2')).then(registered('2'));
  });

  it('has no version registered twice', () => {
    given(launchPlanDecider, registered('1')).when(register('1')).thenRefused({ kind: 'exists-identical' });
    given(launchPlanDecider, registered('1'), activated('1'))
      .when({ ...register('1'), digest: spec } as LaunchPlanCommand)
      .thenRefused({ kind: 'exists-different' });
  });

  it('has a version activated, with its schedule', () => {
    given(launchPlanDecider, registered('1')).when(activate('1')).then(activated('1'));
  });

  it('has the active version replaced in one event', () => {
    given(launchPlanDecider, registered('1'), registered('2'), activated('1'))
      .when(activate('2'))
      .then(activated('2', '1'));
  });

  it('records nothing when an active version is activated, or an inactive one deactivated', () => {
    given(launchPlanDecider, registered('1'), activated('1')).when(activate('1')).thenNothing();
    given(launchPlanDecider, registered('1')).when(deactivate('1')).thenNothing();
    given(launchPlanDecider, registered('1'), registered('2'), activated('1')).when(deactivate('2')).thenNothing();
  });

  it('has its active version deactivated, and activated again', () => {
    given(launchPlanDecider, registered('1'), activated('1')).when(deactivate('1')).then(deactivated('1'));
    given(launchPlanDecider, registered('1'), activated('1'), deactivated('1'))
      .when(activate('1'))
      .then(activated('1'));
  });

  it('refuses to activate or deactivate a version that is not registered', () => {
    given(launchPlanDecider, registered('1')).when(activate('2')).thenRefused({ kind: 'version-unknown' });
    given(launchPlanDecider).when(deactivate('2')).thenRefused({ kind: 'version-unknown' });
  });
});

describe('the stream of a launch plan', () => {
  it('keeps large contents in the scope of its project', () => {
    expect(launchPlanAggregate.payloadScope(register('1'))).toBe('definitions/p');
  });

  it('permanently refuses a version that exists, and not one that may be registered later', () => {
    expect(launchPlanAggregate.isPermanentRefusal({ kind: 'exists-identical' })).toBe(true);
    expect(launchPlanAggregate.isPermanentRefusal({ kind: 'exists-different' })).toBe(true);
    expect(launchPlanAggregate.isPermanentRefusal({ kind: 'version-unknown' })).toBe(false);
  });

  it('is counted with the same size for each version', () => {
    const [none, one, two] = [[], ['1'], ['1', '2']].map((versions) =>
      launchPlanAggregate.sizeOf(
        versions
          .map(registered)
          .reduce((state, event) => launchPlanDecider.evolve(state, event), launchPlanDecider.initial()),
      ),
    ) as [number, number, number];
    expect(one).toBeGreaterThan(none + 100);
    expect(two - one).toBe(one - none);
  });
});

describe('the laws of a launch plan', () => {
  const version = fc.constantFrom('1', '2', '3');
  const command = fc.oneof(version.map(register), version.map(activate), version.map(deactivate));

  it('a command that is given again records nothing, and an activation names the version that it deactivates', () => {
    fc.assert(
      fc.property(fc.array(command), (commands) => {
        let state = launchPlanDecider.initial();
        let active = '';
        for (const each of commands) {
          const { events = [] } = launchPlanDecider.decide(state, each) as { events?: readonly LaunchPlanEvent[] };
          for (const event of events) {
            if (event.type === 'LaunchPlanActivated') expect(event.data.deactivatedVersion).toBe(active);
            if (event.type !== 'LaunchPlanRegistered')
              active = event.type === 'LaunchPlanActivated' ? event.data.id!.version : '';
            state = launchPlanDecider.evolve(state, event);
          }
          expect(state.activeVersion ?? '').toBe(active);
          const again = launchPlanDecider.decide(state, each) as { events?: readonly LaunchPlanEvent[] };
          expect(again.events ?? []).toEqual([]);
        }
      }),
    );
  });
});

describe('the events of a launch plan', () => {
  it.each([activated('2', '1'), deactivated('1')])('are read as they were written: $type', (event) => {
    const { type, data } = launchPlanCodec.encode(event);
    expect(launchPlanCodec.decode(type, data, 1)).toEqual(event);
  });

  it('of an unknown type are an error', () => {
    expect(() => launchPlanCodec.decode('LaunchPlanForgotten', new Uint8Array(), 1)).toThrow(UnknownEvent);
  });
});
