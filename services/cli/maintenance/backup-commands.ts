import { type Command, InvalidArgumentError, Option } from 'commander';
import { type PayloadLocation, payloadLocation } from '../../store/payloads/payload-location.js';
import type { BackupFlags, RestoreFlags } from './backup.js';
import { TARGET_VALUES } from './object-target.js';
import type { DataCommands } from './payload-commands.js';

const foreignFlag = (treatment: string) =>
  [
    '--foreign <category...>',
    `categories of streams that other programs write to the log: their events are ${treatment}, and not searched for payloads; a category that is unknown and not named here is an error`,
  ] as const;

/** Parses where a restore puts payloads and uploads. @throws {InvalidArgumentError} which commander prints. */
const restoredPayloads = (text: string): PayloadLocation => {
  const location = payloadLocation(text);
  if (typeof location === 'string') throw new InvalidArgumentError(`It ${location}.`);
  return location;
};

/** Adds `backup` and `restore` to the command line. */
export const addBackupCommands = (program: Command, { withData, ownSettings, configurationOf }: DataCommands): void => {
  withData(program.command('backup'))
    .description(
      'back up log, payloads, uploads, link key, users and clients; works while servers run, and copies only what is new',
    )
    .requiredOption('--to <target>', `${TARGET_VALUES}: empty, or with an earlier backup of this log`)
    .option(...foreignFlag('backed up'))
    .addHelpText('after', ownSettings)
    .action(async (options: BackupFlags) => {
      const { backup } = await import('./backup.js');
      await backup(configurationOf(options), options);
    });

  program
    .command('restore')
    .description('restore a backup, checked by content hash; its log gets an identity of its own')
    .requiredOption('--from <source>', TARGET_VALUES)
    .requiredOption(
      '--data-dir <directory>',
      'the data directory to create: empty or missing, or left by an interrupted restore',
    )
    .addOption(
      new Option('--payload-store <location>', 'payloads and uploads go into a bucket instead of the data directory')
        .argParser(restoredPayloads)
        .default({ kind: 'file' }, 'file:'),
    )
    .option(...foreignFlag('restored'))
    .action(async (flags: RestoreFlags) => {
      const { restore } = await import('./backup.js');
      await restore(flags);
    });
};
