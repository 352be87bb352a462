import { integer, object, text, type Infer, type SchemaOf } from '../../../schema/structural.js';

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

/**
 * Caps against callers who choose gas fields to drain the deposit. The Chain's caps replace the defaults; the
 * Paymaster's can only tighten what the Chain, or the default, allows.
 */
export const gasCaps = (description: string) =>
  object(description, {
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

export type GasCaps = Infer<ReturnType<typeof gasCaps>>;
