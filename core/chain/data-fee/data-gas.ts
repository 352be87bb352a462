import { entryPointRules } from '../../entry-point/table.js';
import type { UserOperation } from '../../entry-point/user-operation.js';
import type { EntryPointVersion } from '../../entry-point/version.js';
import type { Hex } from '../../units/hex.js';
import { parseEther, divideUp } from '../../units/wei.js';
import { boundedForCaps, preVerificationGas } from '../../userop/pre-verification-gas.js';
import type { Head } from '../heads.js';
import { dataFeeKinds } from './kinds.js';
import { postedTransaction } from './posted-transaction.js';
import { defaultMaxDataFee, type DataFeeSpec } from './spec.js';

/** What is known about the data fee when a request is decided. */
export type DataFee = {
  readonly spec: DataFeeSpec;
  /** The oracle's price in the unit of the kind; 0 for a kind that is not followed. */
  readonly price: bigint;
  readonly network: Pick<Head, 'baseFeePerGas' | 'priorityFeePerGas'>;
};

type OperationInBundle = {
  readonly op: UserOperation;
  /** Of the final length, as in a stub. */
  readonly paymasterAndData: Hex;
  readonly version: EntryPointVersion;
};

/**
 * Percent that estimates add where a data fee is followed: it moves until the operation is sent, and bundlers add as much
 * to their own estimates. On EntryPoint 0.6 some of them count signature and paymasterAndData twice.
 */
const margins = { packed: 10n, unpacked: 15n } as const;

/** Our preVerificationGas: execution, calldata, and what the roll-up charges for the bytes that it posts. */
export function preVerificationGasOf(bundled: OperationInBundle, fee: DataFee): bigint {
  const ownGas = preVerificationGas(bundled.op, bundled.paymasterAndData);
  const gas = ownGas + dataGas(bundled, fee, { ownGas });
  if (!dataFeeKinds[fee.spec.kind].isFollowed) return gas;
  return divideUp(gas * (100n + margins[entryPointRules[bundled.version].form.name]), 100n);
}

/**
 * The same for caps: from signed fields only, and with so little data gas that it costs at most the `maxFee` of the
 * Chain, whatever its price when it is mined. So neither a caller, nor a tip, nor an oracle that lies can raise a cap
 * further.
 */
export function boundedPreVerificationGasOf(bundled: OperationInBundle, fee: DataFee): bigint {
  const op = boundedForCaps(bundled.op);
  const ownGas = preVerificationGas(op, bundled.paymasterAndData);
  const gas = dataGas({ ...bundled, op }, fee, { ownGas });
  const most = parseEther(fee.spec.maxFee ?? defaultMaxDataFee) / (op.maxFeePerGas || 1n);
  return ownGas + lower(gas, most);
}

/** What `bytes` more of calldata add, if they do not compress: e.g. a call that a client inserts later. */
export function dataGasOfMore(bundled: OperationInBundle, fee: DataFee, bytes: number, gas: bigint): bigint {
  const ownGas = preVerificationGas(bundled.op, bundled.paymasterAndData);
  return (
    dataGas(bundled, fee, { ownGas: ownGas + gas, moreBytes: bytes }) - dataGas(bundled, fee, { ownGas })
  );
}

/**
 * What bundlers count on for each gas, in wei: base fee and the network's tip, or less where the operation offers less.
 * At least 1. A higher tip of the operation does not count: bundlers compute what they ask for at their own price.
 */
export function bundlersGasPrice(
  { maxFeePerGas, maxPriorityFeePerGas }: Pick<UserOperation, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  { baseFeePerGas, priorityFeePerGas }: DataFee['network'],
): bigint {
  const price = baseFeePerGas + lower(maxPriorityFeePerGas, priorityFeePerGas);
  return lower(price, maxFeePerGas) || 1n;
}

function lower(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function dataGas(
  { op, paymasterAndData, version }: OperationInBundle,
  { spec, price, network }: DataFee,
  { ownGas, moreBytes = 0 }: { readonly ownGas: bigint; readonly moreBytes?: number },
): bigint {
  const transaction = () => postedTransaction(op, paymasterAndData, version);
  const posted = { transaction, moreBytes, ownGas, gasPrice: bundlersGasPrice(op, network) };
  return dataFeeKinds[spec.kind].gas(posted, spec, price);
}

/** Bytes after compression that an ordinary operation posts, for reports. */
const ordinaryBytes = 500;

/** What posting an ordinary operation costs at this price of the oracle, in wei, for people. */
export function ordinaryDataFee(spec: DataFeeSpec, price: bigint): bigint {
  const posted = { transaction: () => new Uint8Array(), moreBytes: ordinaryBytes, ownGas: 0n, gasPrice: 1n };
  return dataFeeKinds[spec.kind].gas(posted, spec, price);
}
