import { OperatorError, forSetting } from '../../config/operator-errors.js';
import { payloadLocation } from '../../store/payloads/payload-location.js';
import { createTargetFolder, folderTarget, type ObjectTarget } from '../../store/targets/object-target.js';

/** The values of a flag that names a target, for the help text. */
export const TARGET_VALUES = 'a directory, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME';

/**
 * Opens the folder or the bucket that a flag or a setting names, and creates the folder of `--to`; any other folder is
 * not checked. The client of an object store is loaded only for a bucket. The caller must close the target.
 *
 * @throws {OperatorError} when the folder cannot be created, or the bucket is not valid or cannot be used.
 */
export const openTarget = async (flag: string, target: string, purpose: string): Promise<ObjectTarget> => {
  if (!target.startsWith('s3:')) {
    if (flag === '--to') await forSetting(flag, () => createTargetFolder(target, purpose));
    return folderTarget(target, purpose);
  }
  const location = payloadLocation(target);
  if (typeof location === 'string' || location.kind !== 's3')
    throw new OperatorError(`${flag} ${target} ${typeof location === 'string' ? location : 'is no bucket'}`);
  const { s3Target } = await import('../../store/targets/s3-target.js');
  return forSetting(flag, () => s3Target(location, purpose));
};
