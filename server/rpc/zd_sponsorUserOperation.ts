import { requireObject } from '../http/json.js';
import { invalidInput, type Problem } from '../../core/errors.js';
import { isObject } from '../../core/schema/json-value.js';
import { Fields } from '../../core/userop/fields.js';
import { requireProfile } from '../decision/facts.js';
import { parseEntryPointParams, requireChainId } from './entry-point-form.js';
import type { RpcMethod } from './method.js';
import { signWithFees, suggestedFees, withFees, type FeeDeps } from './operation-with-fees.js';
import { readFlag, requireOnePhase } from './params.js';
import type { SponsorMethodDeps } from './pm_sponsorUserOperation.js';

/**
 * As ZeroDev's clients ask: once, mostly without limits. `params`: `[{chainId, userOp, entryPointAddress, gasTokenData?, shouldOverrideFee?,
 * shouldConsume?}]`; a token in `gasTokenData` pays. The answer has all fields to copy, in hex.
 */
export function zd_sponsorUserOperation(deps: SponsorMethodDeps & FeeDeps): RpcMethod {
  return {
    async handle([params], context) {
      const { paymaster } = context;
      const profile = requireProfile(deps.view, paymaster);
      const request = requireObject(
        params,
        'params[0]',
        'an object with chainId, userOp and entryPointAddress',
      );
      const { chainId, userOp, entryPointAddress, gasTokenData } = request;
      requireChainId(chainId, paymaster, 'params[0].chainId');
      const overridesFee = readFlags(request);
      const operation =
        overridesFee || isWithoutFees(userOp) ? withFees(userOp, suggestedFees(deps, paymaster)) : userOp;
      const form = {
        entryPoint: entryPointAddress,
        entryPointPath: 'params[0].entryPointAddress',
        operationPath: 'params[0].userOp',
        context: readToken(gasTokenData),
        contextPath: 'params[0].gasTokenData',
      };
      const asked = parseEntryPointParams(operation, form, profile, context);
      requireOnePhase(asked.request);
      return signWithFees(deps, paymaster, asked, { calculateGasLimits: 'larger' });
    },
    answersErrorsWithOk: () => true,
  };
}

function readToken(gasTokenData: unknown): { readonly token?: string } {
  if (gasTokenData === undefined || gasTokenData === null) return {};
  const path = 'params[0].gasTokenData';
  const fields = new Fields(requireObject(gasTokenData, path, 'an object'), path);
  const token = fields.requiredAddress('tokenAddress');
  fields.done();
  return { token };
}

/** Whether our fees take the place of the operation's. Throws INVALID_INPUT. */
function readFlags({ shouldOverrideFee, shouldConsume }: Readonly<Record<string, unknown>>): boolean {
  const problems: Problem[] = [];
  const overridesFee = readFlag(shouldOverrideFee, 'params[0].shouldOverrideFee', problems);
  if (readFlag(shouldConsume, 'params[0].shouldConsume', problems) === false)
    problems.push({
      field: 'params[0].shouldConsume',
      expected:
        'true or left out: whatever is signed counts. pm_getPaymasterStubData answers data that count nothing',
    });
  if (problems.length > 0) throw invalidInput(problems);
  return overridesFee === true;
}

function isWithoutFees(operation: unknown): boolean {
  if (!isObject(operation)) return false;
  const fields = new Fields(operation, '');
  return !['maxFeePerGas', 'maxPriorityFeePerGas', 'gasFees'].some((name) => fields.isGiven(name));
}
