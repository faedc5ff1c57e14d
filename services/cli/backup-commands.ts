import type { Command } from 'commander';
import type { BackupFlags, RestoreFlags } from './backup.js';
import type { DataCommands } from './payload-commands.js';

const PLACE = 'a directory, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME';

const FOREIGN = ['--foreign <category...>', 'categories of streams that others write to the log'] as const;

/** Adds `backup` and `restore` to the command line. */
export const addBackupCommands = (program: Command, { withData, ownSettings, configurationOf }: DataCommands): void => {
  withData(program.command('backup'))
    .description('back up log, payloads, uploads and link key; works while servers run, and copies only what is new')
    .requiredOption('--to <place>', `${PLACE}: empty, or with an earlier backup of this log`)
    .option(...FOREIGN)
    .addHelpText('after', ownSettings)
    .action(async (options: BackupFlags) => {
      const { backup } = await import('./backup.js');
      await backup(configurationOf(options), options);
    });

  program
    .command('restore')
    .description('restore a backup, checked by content hash; its log gets an identity of its own')
    .requiredOption('--from <place>', PLACE)
    .requiredOption('--data-dir <directory>', 'the data directory to create: empty or absent')
    .option(...FOREIGN)
    .action(async (flags: RestoreFlags) => {
      const { restore } = await import('./backup.js');
      await restore(flags);
    });
};
