import { choice, integer, list, object, text, type CelRule, type SchemaOf } from '../schema/structural.js';
import { shapeArguments, type AddedShape } from '../userop/account-functions.js';
import { maxAddedFunctions, type AccountFunctionSpec } from '../userop/added-functions.js';
import type { GasCaps } from '../policy/rules/price-guard/gas-caps.js';
import type { ContractAction, RateLimit, RateLimits } from './paymaster.js';

/** Fields that Chains, Organisations and Paymasters share; fields that every kind has are in `meta/`. */

/** Price per gas. A million gwei is above every price so far; a typing error below that bound shows in conditions. */
export const weiPerGas = (description: string): SchemaOf<string> =>
  text(description, {
    maxLength: 16,
    pattern: '^(0|[1-9][0-9]{0,14}|10{15})$',
    expected: 'an amount of wei as digits in quotes, e.g. "50000000000", at most 10^15',
  });

const weiText = (description: string): SchemaOf<string> =>
  text(description, {
    maxLength: 21,
    pattern: '^(0|[1-9][0-9]{0,20})$',
    expected: 'an amount of wei as digits in quotes, e.g. "1000000000000000", at most 21 digits',
  });

const gasLimit = (description: string): SchemaOf<number> =>
  integer(description, { minimum: 0, maximum: 1_000_000_000 });

export const gasCaps = (description: string): SchemaOf<GasCaps> =>
  object<GasCaps>(description, {
    optional: {
      maxFeePerGas: weiPerGas(
        'Highest maxFeePerGas that is sponsored, in wei. Default: the larger of 3 times the latest base fee and 50 gwei.',
      ),
      maxPriorityFeePerGas: weiPerGas(
        "Highest maxPriorityFeePerGas that is sponsored, in wei. Default: the larger of 3 times the network's tip and 3 gwei.",
      ),
      maxCallGasLimit: gasLimit('Highest callGasLimit that is signed. Default 10000000.'),
      maxVerificationGasLimit: gasLimit('Highest verificationGasLimit that is signed. Default 5000000.'),
      maxDeploymentGas: gasLimit(
        'Highest verificationGasLimit that is signed with initCode. Default 1000000.',
      ),
      maxPreVerificationGas: gasLimit(
        'Highest preVerificationGas that is signed. Default: the larger of 200000 and twice our own figure, which contains the data fee of a roll-up (dataFee of the Chain) up to its maxFee, and for which at most 2 KiB of the signature count.',
      ),
      maxOperationGas: integer(
        'Highest sum of callGasLimit, verificationGasLimit and preVerificationGas that is signed, e.g. 14500000 where a transaction may have 16777216: a bundle needs room beside the operation. Default: none.',
        { minimum: 0, maximum: 3_000_000_000 },
      ),
      maxUnusedGasFee: weiText(
        'Highest fine for unused call and postOp gas (a tenth of them at maxFeePerGas, EntryPoint 0.7 and later), in wei, that is risked without a simulation; above it the limits are compared with one. Default: the larger of 10^15 and what 150000 gas cost at the latest base fee.',
      ),
    },
  });

const rateLimit = (description: string): SchemaOf<RateLimit> =>
  object<RateLimit>(description, {
    required: {
      requests: integer('Requests per period, and the largest burst, e.g. 100.', {
        minimum: 1,
        maximum: 1_000_000,
      }),
      perSeconds: integer('Length of the period in seconds, e.g. 60.', { minimum: 1, maximum: 86_400 }),
    },
  });

export const rateLimits = (description: string): SchemaOf<RateLimits> =>
  object<RateLimits>(description, {
    optional: {
      perKey: rateLimit('All requests with the apiKey of a Paymaster.'),
      perClient: rateLimit('Requests of one client address to a Paymaster.'),
    },
  });

/** The longest allowed bound: nobody who signs in time needs data that are valid for longer. */
export const expirySeconds = (description: string): SchemaOf<number> =>
  integer(description, { minimum: 1, maximum: 86_400 });

export const contractAction = (description: string): SchemaOf<ContractAction> =>
  choice(description, ['Allow', 'Deny']);

const shapes = Object.keys(shapeArguments) as AddedShape[];

/** Rows beside the built-in ones; the rule compares the arguments of a signature with those of its shape. */
export const accountFunctions = (description: string): SchemaOf<readonly AccountFunctionSpec[]> =>
  list(
    description,
    object<AccountFunctionSpec>(
      'One function.',
      {
        required: {
          signature: text(
            'Its name and the types of its arguments, e.g. execFromEntryPoint(address,uint256,bytes).',
            {
              maxLength: 120,
              pattern: '^[A-Za-z_$][A-Za-z0-9_$]{0,63}\\([a-z0-9,()\\[\\]]{1,50}\\)$',
              expected: 'a name and types without blanks, e.g. execFromEntryPoint(address,uint256,bytes)',
            },
          ),
          shape: choice(
            `How its arguments lay out the calls: ${shapes.map((shape) => `${shape} is ${shapeArguments[shape]}`).join(', ')}.`,
            shapes,
          ),
        },
      },
      {
        rule: `self.signature == self.signature.split('(')[0] + {${shapes.map((shape) => `'${shape}': '${shapeArguments[shape]}'`).join(', ')}}[self.shape]`,
        message:
          'must be a function whose arguments fit the shape, e.g. execFromEntryPoint(address,uint256,bytes) for call',
        fieldPath: '.signature',
      },
    ),
    { maxItems: maxAddedFunctions },
  );

/** Name of a profile of a Chain. */
export const version = (description: string, ...rules: readonly CelRule[]): SchemaOf<string> =>
  text(
    description,
    {
      minLength: 1,
      maxLength: 64,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
      expected: 'a version such as "1.1.0": letters, digits, ".", "_" and "-", at most 64 characters',
    },
    ...rules,
  );

/** An amount of native coins. */
export const coins = (description: string): SchemaOf<string> =>
  text(description, {
    minLength: 1,
    maxLength: 26,
    pattern: '^(0|[1-9][0-9]{0,6})(\\.[0-9]{1,18})?$',
    expected:
      'decimal text in quotes such as "0.05": not negative, at most 7 digits before and 18 after the point',
  });
