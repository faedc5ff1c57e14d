import type { Command } from 'commander';
import { names, oneOrMore, pastTime, position, time } from '../arguments.js';
import type { TestFlags } from '../notifications-test.js';
import type { DataCommands } from '../maintenance/payload-commands.js';
import type { AccessFlags } from './access.js';
import type { AuditFlags } from './audit.js';
import { type ScopeFlags, withConnection, withScope } from './connection/flags.js';
import { addEntityCommands } from './entities/entity-commands.js';
import { addExecutionCommands } from './executions/execution-commands.js';
import type { HistoryFlags } from './history.js';
import type { NotificationsFlags } from './notifications.js';
import type { ParkedStreamFlags } from './parked-stream.js';
import type { ReactorFlags } from './reactor.js';
import type { ScheduleFlags, SkipFlags } from './schedule.js';
import { addSignInCommands } from './sign-in/sign-in-commands.js';
import type { TailFlags } from './tail.js';

type ConfigurationOf = DataCommands['configurationOf'];

const withScopeAndJson = (command: Command, subject?: string): Command =>
  withScope(command, subject).option('--json', 'print JSON', false);

const addNotificationCommands = (program: Command, configurationOf: ConfigurationOf): void => {
  const notifications = program.command('notifications').description('the messages about an execution');

  withScopeAndJson(notifications.command('list'))
    .argument('<name>', 'NAME, or PROJECT/DOMAIN/NAME')
    .description('print each message: id, time, phase, channel, recipient, attempts, status')
    .action(async (name: string, flags: NotificationsFlags) => {
      const { listNotifications } = await import('./notifications.js');
      await listNotifications(name, flags);
    });

  withScope(notifications.command('resend'))
    .argument('<name>', 'NAME, or PROJECT/DOMAIN/NAME')
    .argument('<message>', 'id of the message, as the list prints it')
    .description('send a message again, also one that was sent or given up')
    .action(async (name: string, message: string, flags: ScopeFlags) => {
      const { resendNotification } = await import('./notifications.js');
      await resendNotification(name, message, flags);
    });

  notifications
    .command('test')
    .argument('<channel>', 'name of a channel of the configuration; mail is one')
    .option('--config <file>', 'settings in YAML or JSON')
    .option('--to <address>', 'recipient, for mail')
    .description('send a test message from here, without a server, and print the answer')
    .action(async (channel: string, flags: TestFlags) => {
      const { testChannel } = await import('../notifications-test.js');
      await testChannel(configurationOf(flags), channel, flags);
    });
};

const addScheduleCommands = (program: Command): void => {
  const schedule = program.command('schedule').description('the schedules of launch plans');
  withScopeAndJson(schedule.command('list'), 'the launch plans')
    .description('print the schedules: version, state, next fire time, lag, and why ticks were skipped or failed')
    .action(async (flags: ScheduleFlags) => {
      const { listSchedules } = await import('./schedule.js');
      await listSchedules(flags);
    });
  withScopeAndJson(schedule.command('next'), 'the launch plan')
    .argument('<name>', 'name of the launch plan')
    .description('print the next ten fire times of a schedule')
    .action(async (name: string, flags: ScheduleFlags) => {
      const { nextFireTimes } = await import('./schedule.js');
      await nextFireTimes(name, flags);
    });
  withScopeAndJson(schedule.command('fire'), 'the launch plan')
    .argument('<name>', 'name of the launch plan')
    .description('launch a launch plan with a schedule now, and print the name of the execution')
    .action(async (name: string, flags: ScheduleFlags) => {
      const { fireSchedule } = await import('./schedule.js');
      await fireSchedule(name, flags);
    });
  withScopeAndJson(schedule.command('skip'), 'the launch plan')
    .argument('<name>', 'name of the launch plan')
    .option('--at <time>', 'the tick at this time, such as 2026-03-02T09:58:00Z; by default the next one', time)
    .description('skip one tick of a schedule, and print the schedule')
    .action(async (name: string, flags: SkipFlags) => {
      const { skipTick } = await import('./schedule.js');
      await skipTick(name, flags);
    });
  for (const command of ['pause', 'resume'] as const)
    withScopeAndJson(schedule.command(command), 'the launch plan')
      .argument('<name>', 'name of the launch plan')
      .description(
        `${command} a schedule: its ticks are ${command === 'pause' ? 'skipped' : 'fired again'} from now on`,
      )
      .action(async (name: string, flags: ScheduleFlags) => {
        const { setPaused } = await import('./schedule.js');
        await setPaused(command, name, flags);
      });
};

const addAuditCommand = (program: Command): void => {
  withConnection(program.command('audit'))
    .description('print the changes and the refusals, with their callers, from the oldest to the newest')
    .option('-p, --project <id>', 'on this project only')
    .option('-d, --domain <id>', 'on this domain only')
    .option('--actor <principal>', 'of this person or program only')
    .option(
      '--since <time>',
      'recorded at this time or later: 2026-03-02T09:58:16Z, or 15m for 15 minutes ago (default 24h)',
      pastTime,
    )
    .option('--follow', 'continue with new entries, until Ctrl-C', false)
    .option('--json', 'print JSON, one object a line', false)
    .action(async (flags: AuditFlags) => {
      const { audit } = await import('./audit.js');
      await audit(flags);
    });
};

const addAccessCommands = (program: Command): void => {
  const access = program.command('access').description('the roles of people and programs');
  for (const command of ['grant', 'revoke'] as const)
    withConnection(access.command(command))
      .argument('<principal>', 'subject of the tokens of a person or program, such as a user name or client id')
      .argument('<role>', 'viewer, contributor, operator, engine or administrator')
      .requiredOption('-p, --project <id>', "in this project; '*' is every project")
      .option('-d, --domain <id>', 'in this domain', '*')
      .option('--issuer <url>', 'for callers of this issuer alone: its URL, or `certificate`')
      .description(`${command === 'grant' ? 'give a role to' : 'take a role from'} a person or program, at once`)
      .action(async (principal: string, role: string, flags: AccessFlags) => {
        const { changeBinding } = await import('./access.js');
        await changeBinding(command, { principal, role }, flags);
      });
  withConnection(access.command('list'))
    .option('-p, --project <id>', 'that apply in this project')
    .option('-d, --domain <id>', 'that apply in this domain')
    .option('--principal <principal>', 'of this person or program')
    .option('--json', 'print JSON', false)
    .description('print the roles that were granted: principal, role, project, domain, issuer')
    .action(async (flags: AccessFlags) => {
      const { listBindings } = await import('./access.js');
      await listBindings(flags);
    });
  withConnection(access.command('mine'))
    .option('-p, --project <id>', 'in this project; in every project without it')
    .option('-d, --domain <id>', 'in this domain; in every domain without it')
    .description('print what you may do: read, register, execute, events, admin')
    .action(async (flags: AccessFlags) => {
      const { listOwnPermissions } = await import('./access.js');
      await listOwnPermissions(flags);
    });
};

const addReactorCommands = (program: Command): void => {
  const reactor = program.command('reactor').description('the reactors, and the work that they could not do');
  withConnection(reactor.command('list'))
    .option('--json', 'print JSON', false)
    .description('print each reactor: process, position, lag, work that failed, and its dead letters')
    .action(async (flags: ReactorFlags) => {
      const { listReactors } = await import('./reactor.js');
      await listReactors(flags);
    });
  for (const command of ['retry', 'skip'] as const)
    withConnection(reactor.command(command))
      .argument('<reactor>', 'name of the reactor')
      .argument('<position>', 'position of the dead letter, as the list prints it', position)
      .description(command === 'retry' ? 'try a dead letter again' : 'drop a dead letter: its work is not done')
      .action(async (reactorName: string, at: bigint, flags: ReactorFlags) => {
        const { changeDeadLetter } = await import('./reactor.js');
        await changeDeadLetter(command, { reactor: reactorName, position: at }, flags);
      });
};

const addParkedStreamCommands = (program: Command): void => {
  const parked = program.command('parked-stream').description('the streams with an event that cannot be read');
  withConnection(parked.command('list'))
    .option('--json', 'print JSON', false)
    .description('print each parked stream: position of the event, what has parked it, stream, reason, last retry')
    .action(async (flags: ParkedStreamFlags) => {
      const { listParkedStreams } = await import('./parked-stream.js');
      await listParkedStreams(flags);
    });
  withConnection(parked.command('retry'))
    .argument('<stream>', 'name of the stream, as the list prints it')
    .description('read a parked stream again, in the views and in every process')
    .action(async (stream: string, flags: ParkedStreamFlags) => {
      const { retryParkedStream } = await import('./parked-stream.js');
      await retryParkedStream(stream, flags);
    });
};

/** Adds the commands that ask a server, and those on notifications. */
export const addClientCommands = (program: Command, configurationOf: ConfigurationOf): void => {
  withScopeAndJson(program.command('history'))
    .argument('<name>', 'NAME, or PROJECT/DOMAIN/NAME')
    .description(
      'print every transition of an execution, its nodes, tasks and signals: position, time, phase, entity, principal, request, reason',
    )
    .option('--node <id>', 'of this node and its tasks only')
    .option('--phase <phase,...>', 'to these phases only; repeatable', names)
    .option('--type <type,...>', 'by events of these types only; repeatable', names)
    .option('--changes-only', 'without reports that repeat a phase', false)
    .option('--newest-first', 'from the newest to the oldest', false)
    .option('--limit <n>', 'at most this many', oneOrMore)
    .action(async (name: string, flags: HistoryFlags) => {
      const { history } = await import('./history.js');
      await history(name, flags);
    });

  addEntityCommands(program);
  addExecutionCommands(program);
  addNotificationCommands(program, configurationOf);
  addScheduleCommands(program);
  addAccessCommands(program);
  addSignInCommands(program);
  addReactorCommands(program);
  addParkedStreamCommands(program);
  addAuditCommand(program);

  withConnection(program.command('tail'))
    .description('print events as they are recorded, until Ctrl-C')
    .option('--from <where>', 'start, now, a position, or a time such as 2026-03-02T09:58:16Z', 'now')
    .option('-p, --project <id>', 'of this project only')
    .option('-d, --domain <id>', 'of this domain only, with --project')
    .option('--name <name>', 'of this execution only, with --project and --domain')
    .option('--node <id>', 'of this node only')
    .option('--category <category,...>', 'of streams of these categories only; repeatable', names)
    .option('--type <type,...>', 'of these types only; repeatable', names)
    .option('--phase <phase,...>', 'to these phases only; repeatable', names)
    .option('--label <key=value,...>', 'of executions with these labels only; repeatable', names)
    .option('--limit <n>', 'end after this many events', oneOrMore)
    .option('--json', 'print JSON, one object a line', false)
    .action(async (flags: TailFlags) => {
      const { tail } = await import('./tail.js');
      await tail(flags);
    });
};
