import { setTimeout as pause } from 'node:timers/promises';
import { copyOf, openJson } from '../../kernel/encoding/json-bytes.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { isSystemStream } from '../../kernel/ports/log-identity.js';
import { MAX_TIMER_MS } from '../../kernel/ports/timers.js';
import { categoryOf, isInProject } from '../../kernel/stream.js';
import { failPoint } from '../../store/fail-point.js';
import type { Partitioning } from '../../streams/files/description.js';
import { rowOf, type RowEncoder } from '../../streams/files/event-row.js';
import { type Exported, type FileExport, openFileExport } from '../../streams/files/export-files.js';
import { jsonLines } from '../../streams/files/json-lines.js';
import { parquet } from '../../streams/files/parquet.js';
import type { Configuration } from '../../config/configuration.js';
import { wholeEventEncoder } from '../../event-json/readable.js';
import { openOwnLog } from '../../main/log/log-source.js';
import { codecs } from '../../main/models.js';
import { openOwnPayloads } from '../../main/payloads.js';
import { printUnknownTypes } from '../log/unknown-types.js';
import { openTarget } from '../maintenance/object-target.js';
import { progressBar, throughLog } from '../progress-bar.js';
import { onStopSignals } from '../stop-signals.js';
import { printSummary, secondsSince } from '../summary.js';

const FORMATS = { parquet, jsonl: jsonLines } as const;

/** The flags of `export files`. */
export type ExportFilesFlags = {
  readonly to: string;
  readonly format: keyof typeof FORMATS;
  readonly partitionBy: Partitioning;
  readonly eventsPerFile: number;
  readonly project?: string;
  readonly type?: readonly string[];
  /** Categories of other programs that write to the log; their events are left out. */
  readonly foreign?: readonly string[];
  readonly follow: boolean;
  /** The time between two runs with `follow`, in milliseconds. */
  readonly every: number;
};

const presentingRows = (payloads: Parameters<typeof wholeEventEncoder>[0]): RowEncoder => {
  const { json: write } = wholeEventEncoder(payloads);
  const json = openJson(); // for all events: rows are made one after the other
  return {
    codecs,
    json: async (event) => {
      json.length = 0;
      await write(event, json);
      return copyOf(json);
    },
  };
};

/**
 * The filter has no categories, so that a selected event of an unknown category ends the export with an error, instead
 * of being left out without a word.
 */
const selectionOf = ({ project, type: types, foreign = [] }: ExportFilesFlags) => {
  const isOfProject = (stream: string): boolean => project === undefined || isInProject(stream, project);
  return {
    filter: types ? { types } : {},
    matches: ({ stream }: RecordedEvent): boolean => {
      const category = categoryOf(stream);
      return !isSystemStream(stream) && !foreign.includes(category) && (!codecs.has(category) || isOfProject(stream));
    },
  };
};

/** The properties that all files of the target have in common; an export with other ones is refused. */
const descriptionOf = (logId: string, { format, partitionBy, project, type: types }: ExportFilesFlags) => ({
  logId,
  format,
  partitionBy,
  ...(project !== undefined && { project }),
  ...(types && { types: [...types].sort() }),
});

/** Runs the export once or, with `follow`, again and again until a stop signal; prints what each run has written. */
const runAll = async (exporting: FileExport, { follow, every }: ExportFilesFlags): Promise<void> => {
  const stop = new AbortController();
  const { signal } = stop;
  void onStopSignals().then(() => stop.abort());
  const report = (done: Exported, started: number): void => {
    if (done.files === 0 && follow) return;
    printSummary({ ...done, position: Number(exporting.position), seconds: secondsSince(started) });
  };
  do {
    const started = performance.now();
    report(await exporting.run(() => signal.aborted), started);
    // A stop signal ends the pause. A longer timer than the longest one would end at once.
    if (follow) await pause(Math.min(every, MAX_TIMER_MS), undefined, { signal }).catch(() => undefined);
  } while (follow && !signal.aborted);
};

/**
 * Writes the events of the log to files in a folder or a bucket, from where an earlier export to the same target has
 * ended. Prints a summary as a JSON object, with `--follow` of each run that has written files, and on standard error
 * the names of `--type` that this release does not know.
 *
 * @throws {OperatorError} when the log, the folder or the bucket cannot be opened.
 * @throws {Fault} of {@link openFileExport} and of its runs.
 */
export const exportFiles = async (configuration: Configuration, flags: ExportFilesFlags): Promise<void> => {
  printUnknownTypes(flags.type);
  const log = await openOwnLog(configuration);
  const payloads = await openOwnPayloads(configuration);
  const target = await openTarget('--to', flags.to, 'export');
  const bar = progressBar();
  const present = presentingRows(payloads);
  try {
    const exporting = await openFileExport({
      log,
      target,
      description: descriptionOf(log.logId, flags),
      format: FORMATS[flags.format],
      ...selectionOf(flags),
      rowOf: (event) => rowOf(event, present),
      eventsPerFile: flags.eventsPerFile,
      onProgress: (position, head) => bar.show(throughLog({ phase: 'export', position, head })),
      onFile: () => failPoint('exported-file'), // where tests kill the process
    });
    await runAll(exporting, flags);
  } finally {
    bar.stop();
    for (const part of [target, payloads, log]) await part.close();
  }
};
