import { invalid, missing } from '../rpc.js';

/** The shape of `core.QualityOfService`. */
export type QualityOfServiceRule = {
  readonly designation:
    | { readonly case: 'tier'; readonly value: number }
    | {
        readonly case: 'spec';
        readonly value: {
          readonly queueingBudget?: { readonly seconds: bigint; readonly nanos: number } | undefined;
        };
      }
    | { readonly case: undefined; readonly value?: undefined };
};

/** The highest number in `core.QualityOfService.Tier`. */
const LAST_TIER = 3;

/**
 * Checks that the tier of a quality of service exists, or that its spec has a queueing budget that is not negative.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the invalid field.
 */
export const assertQualityOfService = (quality: QualityOfServiceRule | undefined): void => {
  const { designation } = quality ?? { designation: { case: undefined } };
  if (designation.case === 'tier' && (designation.value < 0 || designation.value > LAST_TIER))
    throw invalid('quality_of_service.tier', `${designation.value} is not a tier`);
  if (designation.case !== 'spec') return;
  const { queueingBudget } = designation.value;
  if (queueingBudget === undefined) throw missing('quality_of_service.spec.queueing_budget');
  if (queueingBudget.seconds < 0n || queueingBudget.nanos < 0)
    throw invalid('quality_of_service.spec.queueing_budget', 'it is below 0');
};
