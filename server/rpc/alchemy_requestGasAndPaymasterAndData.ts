import { requireObject } from '../http/json.js';
import { invalidInput, quote } from '../../core/errors.js';
import { isObject } from '../../core/schema/json-value.js';
import { hexQuantity } from '../../core/units/hex.js';
import { Fields, uint } from '../../core/userop/fields.js';
import { requireProfile } from '../decision/facts.js';
import { parseEntryPointParams } from './entry-point-form.js';
import type { RpcMethod } from './method.js';
import { signWithFees, suggestedFees, type FeeDeps, type Fees } from './operation-with-fees.js';
import { requireOnePhase } from './params.js';
import type { SponsorMethodDeps } from './pm_sponsorUserOperation.js';

const feeNames = ['maxFeePerGas', 'maxPriorityFeePerGas'] as const;
const limitNames = ['callGasLimit', 'verificationGasLimit', 'preVerificationGas'] as const;
const paymasterNames = ['paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'] as const;
const maxMultiplier = 10;
const fee = uint(120);

/**
 * As Alchemy's clients ask: once, for limits, fees and data. `params`: `[{policyId, entryPoint, userOperation, dummySignature, overrides,
 * erc20Context?, webhookData?}]`. An override is a value, which is signed as given, or `{multiplier}` of what we find.
 */
export function alchemy_requestGasAndPaymasterAndData(deps: SponsorMethodDeps & FeeDeps): RpcMethod {
  return {
    async handle([params], context) {
      const { paymaster } = context;
      const profile = requireProfile(deps.view, paymaster);
      const request = requireObject(params, 'params[0]', 'an object with entryPoint and userOperation');
      const { entryPoint, dummySignature, policyId, erc20Context, webhookData } = request;
      const { userOperation: given } = request;
      const userOperation = requireObject(given, 'params[0].userOperation', 'a user operation object');
      const overrides = readOverrides(request['overrides']);
      // A multiplier is of what we find, so what the operation has beside it does not count.
      const own = Object.fromEntries(
        Object.entries(userOperation).filter(([name]) => !Object.hasOwn(overrides.margins, name)),
      );
      const fees = chooseFees(suggestedFees(deps, paymaster), overrides, own);
      const operation = {
        ...own,
        ...overrides.given,
        maxFeePerGas: hexQuantity(fees.maxFeePerGas),
        maxPriorityFeePerGas: hexQuantity(fees.maxPriorityFeePerGas),
        signature: userOperation['signature'] || dummySignature,
      };
      const form = {
        entryPoint,
        entryPointPath: 'params[0].entryPoint',
        operationPath: 'params[0].userOperation',
        context: { policyId, erc20Context, webhookData },
        contextPath: 'params[0]',
      };
      const asked = parseEntryPointParams(operation, form, profile, context);
      requireOnePhase(asked.request);
      return signWithFees(deps, paymaster, asked, {
        calculateGasLimits: 'missing',
        margins: overrides.margins,
      });
    },
    answersErrorsWithOk: () => true,
  };
}

type Overrides = {
  /** Values, by the names of the operation. */
  readonly given: Readonly<Record<string, unknown>>;
  /** Percent of what we find. */
  readonly margins: Readonly<
    Partial<Record<(typeof limitNames)[number] | (typeof feeNames)[number], number>>
  >;
};

function readOverrides(value: unknown): Overrides {
  const path = 'params[0].overrides';
  const overrides = requireObject(value ?? {}, path, 'an object');
  const given: Record<string, unknown> = {};
  const margins: Record<string, number> = {};
  for (const name of [...feeNames, ...limitNames, ...paymasterNames]) {
    const value = overrides[name];
    if (value === undefined || value === null) continue;
    if (!isObject(value)) given[name] = value;
    // The paymaster's own are signed with a margin already.
    else if (!paymasterNames.some((own) => own === name))
      margins[name] = readPercent(value, `${path}.${name}`);
  }
  return { given, margins };
}

function readPercent({ multiplier }: Readonly<Record<string, unknown>>, field: string): number {
  if (typeof multiplier === 'number' && multiplier >= 1 && multiplier <= maxMultiplier)
    return Math.ceil(multiplier * 100);
  throw invalidInput({
    field: `${field}.multiplier`,
    expected: `a number from 1 to ${maxMultiplier}`,
    value: quote(multiplier),
  });
}

/** Those of the overrides, else the operation's own, else ours times their multipliers. Throws INVALID_INPUT. */
function chooseFees(
  ours: Fees,
  { given, margins }: Overrides,
  operation: Readonly<Record<string, unknown>>,
): Fees {
  const wanted = new Fields(given, 'params[0].overrides');
  const own = new Fields(operation, 'params[0].userOperation');
  const [maxFee, tip] = feeNames.map((name) => wanted.quantity(name, fee) ?? own.quantity(name, fee));
  wanted.done();
  own.done();
  const times = (name: keyof Fees): bigint => (ours[name] * BigInt(margins[name] ?? 100)) / 100n;
  const maxFeePerGas = maxFee ?? times('maxFeePerGas');
  const found = times('maxPriorityFeePerGas');
  // Ours gives way to a lower maximum of the caller.
  return { maxFeePerGas, maxPriorityFeePerGas: tip ?? (found < maxFeePerGas ? found : maxFeePerGas) };
}
